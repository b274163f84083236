"""Who calls, and that nobody reaches another's session."""

import json
from typing import Any

import pytest

from agent.edge.callers import ANONYMOUS, caller_of, new_session_id, session_key
from agent.errors import MisconfiguredError
from tests.agent.edge.gateway_events import Maker, error_code, function_url, http_api, rest_api
from tests.agent.edge.whole_function import ENVIRONMENT, Whole, function_at, unique

ROLE = "arn:aws:sts::123456789012:assumed-role/app"
USER = "arn:aws:iam::123456789012:user/alice"


def jwt(sub: str, iss: str = "https://issuer.example") -> dict[str, Any]:
    return {"authorizer": {"jwt": {"claims": {"iss": iss, "sub": sub}, "scopes": None}}}


def iam(arn: str | None, cognito: str | None = None) -> dict[str, Any]:
    identity = {"identityId": cognito} if cognito else None
    return {"authorizer": {"iam": {"userArn": arn, "cognitoIdentity": identity, "accountId": "123456789012"}}}


# Two callers of each kind, as the gateways tell them.
KINDS: list[tuple[str, Maker, dict[str, Any], dict[str, Any]]] = [
    ("JWT subjects", http_api, jwt("alice"), jwt("bob")),
    ("JWT issuers", http_api, jwt("alice"), jwt("alice", "https://other.example")),
    ("JWT parts that join alike", http_api, jwt("b", "a"), jwt("ab", "")),
    ("Cognito user pool", rest_api, {"authorizer": {"claims": {"sub": "a"}}}, {"authorizer": {"claims": {"sub": "b"}}}),
    ("Cognito identities of an HTTP API", http_api, iam(f"{ROLE}/s", "us-east-1:a"), iam(f"{ROLE}/s", "us-east-1:b")),
    (
        "Cognito identities of a REST API",
        rest_api,
        {"identity": {"cognitoIdentityId": "us-east-1:a", "userArn": f"{ROLE}/s"}},
        {"identity": {"cognitoIdentityId": "us-east-1:b", "userArn": f"{ROLE}/s"}},
    ),
    ("principals", rest_api, {"authorizer": {"principalId": "a"}}, {"authorizer": {"principalId": "b"}}),
    (
        "principals of an HTTP API",
        http_api,
        {"authorizer": {"lambda": {"principalId": "a"}}},
        {"authorizer": {"lambda": {"principalId": "b"}}},
    ),
    ("IAM users", http_api, iam(USER), iam(USER + "2")),
    ("IAM users of a REST API", rest_api, {"identity": {"userArn": USER}}, {"identity": {"userArn": USER + "2"}}),
    ("IAM users of a function URL", function_url, iam(USER), iam(USER + "2")),
    ("role sessions", function_url, iam(f"{ROLE}/one"), iam(f"{ROLE}/two")),
    ("roles", http_api, iam(f"{ROLE}/s"), iam(f"{ROLE}2/s")),
    ("someone and nobody", http_api, jwt("alice"), {}),
    ("someone and one named like nobody", http_api, jwt("anonymous"), {}),
]


@pytest.mark.parametrize(("name", "event", "one", "other"), KINDS, ids=[kind[0] for kind in KINDS])
def test_a_caller_reaches_only_its_own_session(
    whole: Whole, name: str, event: Maker, one: dict[str, Any], other: dict[str, Any]
) -> None:
    session = unique()
    first, _ = whole.ask(event(body={"question": "my secret", "session_id": session}, **one))
    assert first["statusCode"] == 200
    read, _ = whole.ask(event("GET", f"/sessions/{session}", **other))
    assert read["statusCode"] == 404
    second, _ = whole.ask(event(body={"question": "what was it?", "session_id": session}, **other))
    assert json.loads(second["body"])["turn"] == 1
    assert "my secret" not in json.dumps(whole.requests[-1].body)
    whole.ask(event("DELETE", f"/sessions/{session}", **other))
    kept, _ = whole.ask(event("GET", f"/sessions/{session}", **one))
    assert [turn["question"] for turn in json.loads(kept["body"])["turns"]] == ["my secret"]


def test_the_key_in_the_table_is_the_callers_hash_and_the_session(whole: Whole) -> None:
    session = unique()
    context = jwt("alice")
    whole.ask(http_api(body={"question": "hi", "session_id": session}, **context))
    key = session_key(caller_of(context, "session"), session)
    prefix, separator, rest = key.partition("#")
    assert (separator, rest) == ("#", session)
    assert "alice" not in prefix
    assert len(whole.items(key)) == 1
    whole.ask(http_api(body={"question": "hi", "session_id": session}))
    assert len(whole.items(f"anonymous#{session}")) == 1
    whole.direct(session_id=session)
    assert len(whole.items(session)) == 1


def test_a_role_is_one_caller_where_settings_say_so(whole: Whole) -> None:
    by_role = function_at(whole.server, CALLER_IDENTITY="role")
    session = unique()
    event = http_api(body={"question": "hi", "session_id": session}, **iam(f"{ROLE}/one"))
    assert by_role.answer(event, None)[1] is None
    response, _ = by_role.answer(http_api("GET", f"/sessions/{session}", **iam(f"{ROLE}/two")), None)
    assert response is not None
    assert response["statusCode"] == 200
    response, _ = by_role.answer(http_api("GET", f"/sessions/{session}", **iam(f"{ROLE}2/one")), None)
    assert response is not None
    assert response["statusCode"] == 404
    assert "CALLER_IDENTITY" not in ENVIRONMENT


@pytest.mark.parametrize(
    ("context", "same_as"),
    [
        ({**jwt("a")["authorizer"], **iam(USER)["authorizer"], "principalId": "p"}, jwt("a")["authorizer"]),
        ({**iam(USER, "us-east-1:a")["authorizer"], "principalId": "p"}, iam(None, "us-east-1:a")["authorizer"]),
        ({**iam(USER)["authorizer"], "principalId": "p"}, {"principalId": "p"}),
    ],
    ids=["JWT first", "then Cognito", "then the principal"],
)
def test_the_first_identity_counts(context: dict[str, Any], same_as: dict[str, Any]) -> None:
    assert caller_of({"authorizer": context}, "session") == caller_of({"authorizer": same_as}, "session")


def test_an_iam_user_is_the_same_caller_through_every_gateway() -> None:
    through_rest = caller_of({"identity": {"userArn": USER}}, "session")
    assert caller_of(iam(USER), "session") == through_rest
    assert caller_of(iam(USER), "role") == through_rest


@pytest.mark.parametrize(
    "authorizer",
    [
        {"principalId": ""},
        {"principalId": 5},
        {"lambda": {"user": "alice"}},
        {"lambda": None},
        {"jwt": {"claims": {"iss": "https://issuer.example"}}},
        {"jwt": {"claims": {"sub": 5}}},
        {"claims": {"sub": ""}},
        {"iam": {"userArn": None, "cognitoIdentity": None}},
    ],
    ids=repr,
)
def test_an_authorizer_that_names_nobody_shares_no_session(whole: Whole, authorizer: dict[str, Any]) -> None:
    with pytest.raises(MisconfiguredError):
        caller_of({"authorizer": authorizer}, "session")
    response, _ = whole.ask(http_api(body={"question": "hi"}, authorizer=authorizer))
    assert (response["statusCode"], error_code(response)) == (500, "misconfigured")
    assert not whole.requests


@pytest.mark.parametrize(
    "context", [{}, {"authorizer": None}, {"authorizer": {}}, {"authorizer": "x"}, {"identity": 5}]
)
def test_without_an_authorizer_the_caller_is_anonymous(context: dict[str, Any]) -> None:
    assert caller_of(context, "session") == ANONYMOUS


def test_an_id_can_not_forge_anothers_prefix(whole: Whole) -> None:
    victim = session_key(caller_of(jwt("alice"), "session"), "s")
    for forged in (victim, "anonymous#s", "#s", "%23s"):
        response, _ = whole.ask(http_api(body={"question": "hi", "session_id": forged}, **jwt("bob")))
        assert (response["statusCode"], error_code(response)) == (400, "invalid_request")
    quoted = victim.replace("#", "%23")
    response, _ = whole.ask(http_api("GET", f"/sessions/{quoted}"))
    assert response["statusCode"] == 400


def test_headers_are_no_identity(whole: Whole) -> None:
    session = unique()
    headers = {"x-amzn-principal": "alice", "authorization": "Bearer forged"}
    whole.ask(http_api(body={"question": "hi", "session_id": session}, headers=headers))
    assert len(whole.items(f"anonymous#{session}")) == 1


def test_a_made_up_session_id_depends_on_caller_and_request() -> None:
    ids = {new_session_id(caller, request) for caller in ("", "a", "b") for request in ("", "a", "b", "ab")}
    assert len(ids) == 12
    assert new_session_id("a", "b") == new_session_id("a", "b")
