"""Who calls: each caller has sessions of its own, whatever it puts into ids."""

import re
from typing import Any

import pytest

from agent.edge.callers import ANONYMOUS, DIRECT, caller_of, new_session_id, session_key
from agent.errors import MisconfiguredError

_ROLE = "arn:aws:sts::123456789012:assumed-role/App/"
_USER = "arn:aws:iam::123456789012:user/ann"


def _jwt(**claims: Any) -> dict[str, Any]:
    return {"authorizer": {"jwt": {"claims": claims}}}


_CALLERS: dict[str, dict[str, Any]] = {
    "HTTP API JWT": _jwt(iss="https://a", sub="ann"),
    "JWT of another subject": _jwt(iss="https://a", sub="bob"),
    "JWT of another issuer": _jwt(iss="https://b", sub="ann"),
    "JWT whose parts join alike": _jwt(iss="https://aa", sub="nn"),
    "REST Lambda authorizer": {"authorizer": {"principalId": "ann"}},
    "REST Cognito identity": {"identity": {"cognitoIdentityId": "us-east-1:ann"}},
    "HTTP API Cognito identity": {
        "authorizer": {"iam": {"cognitoIdentity": {"identityId": "us-east-1:bob"}, "userArn": _USER}}
    },
    "IAM user": {"authorizer": {"iam": {"userArn": _USER}}},
    "assumed role": {"authorizer": {"iam": {"userArn": _ROLE + "one"}}},
    "assumed role, another session": {"authorizer": {"iam": {"userArn": _ROLE + "two"}}},
}


def test_no_two_callers_are_one() -> None:
    told = {name: caller_of(context, "session") for name, context in _CALLERS.items()}
    assert len(set(told.values())) == len(_CALLERS)
    assert all(re.fullmatch(r"[0-9a-f]{32}", caller) for caller in told.values())


@pytest.mark.parametrize(
    "other",
    [
        {"authorizer": {"claims": {"iss": "https://a", "sub": "ann"}}},
        _jwt(iss="https://a", sub="ann", exp=5, scope="x"),
        {**_jwt(iss="https://a", sub="ann"), "identity": {"userArn": _USER}},
    ],
)
def test_the_same_token_is_the_same_caller_through_every_gateway(other: dict[str, Any]) -> None:
    assert caller_of(other, "session") == caller_of(_CALLERS["HTTP API JWT"], "session")


def test_the_same_iam_user_is_the_same_caller_through_every_gateway() -> None:
    assert caller_of({"identity": {"userArn": _USER}}, "session") == caller_of(_CALLERS["IAM user"], "session")


def test_the_first_identity_in_the_documented_order_counts() -> None:
    cognito: dict[str, Any] = {"cognitoIdentity": {"identityId": "us-east-1:bob"}, "userArn": _USER}
    everything: dict[str, Any] = {
        "authorizer": {"jwt": {"claims": {"iss": "i", "sub": "s"}}, "iam": cognito, "principalId": "p"},
        "identity": {"cognitoIdentityId": "c", "userArn": "u"},
    }
    order = [caller_of(everything, "session")]
    del everything["authorizer"]["jwt"]
    order.append(caller_of(everything, "session"))
    del cognito["cognitoIdentity"], everything["identity"]["cognitoIdentityId"]
    order.append(caller_of(everything, "session"))
    del everything["authorizer"]["principalId"]
    order.append(caller_of(everything, "session"))
    assert order == [
        caller_of(_jwt(iss="i", sub="s"), "session"),
        caller_of(_CALLERS["HTTP API Cognito identity"], "session"),
        caller_of({"authorizer": {"principalId": "p"}}, "session"),
        caller_of(_CALLERS["IAM user"], "session"),
    ]


def test_sessions_of_a_role_are_one_caller_where_the_setting_says_so() -> None:
    one, two = _CALLERS["assumed role"], _CALLERS["assumed role, another session"]
    assert caller_of(one, "role") == caller_of(two, "role")
    assert caller_of(one, "session") != caller_of(two, "session")
    other_role = {"authorizer": {"iam": {"userArn": _ROLE.replace("App", "App2") + "one"}}}
    assert caller_of(one, "role") != caller_of(other_role, "role")
    assert caller_of(_CALLERS["IAM user"], "role") == caller_of(_CALLERS["IAM user"], "session")


@pytest.mark.parametrize("context", [{}, {"authorizer": None}, {"authorizer": {}}, {"identity": {"sourceIp": "::1"}}])
def test_without_an_authorizer_the_caller_is_anonymous(context: dict[str, Any]) -> None:
    assert caller_of(context, "session") == ANONYMOUS


@pytest.mark.parametrize(
    "context", [_jwt(iss="https://a"), _jwt(sub=""), _jwt(sub=5), {"authorizer": {"lambda": {"tenant": "x"}}}]
)
def test_an_authorizer_that_names_nobody_is_a_wrong_setup_and_not_one_shared_caller(context: dict[str, Any]) -> None:
    with pytest.raises(MisconfiguredError) as raised:
        caller_of(context, "session")
    assert "authorizer" in raised.value.detail


def test_keys_of_different_callers_never_meet() -> None:
    assert session_key(DIRECT, "s") == "s"
    assert session_key(ANONYMOUS, "s") == "anonymous#s"
    caller = caller_of(_CALLERS["HTTP API JWT"], "session")
    assert session_key(caller, "s") == f"{caller}#s"


def test_a_made_up_session_id_is_the_same_for_a_retry_and_for_nobody_else() -> None:
    made = new_session_id("caller", "request")
    assert made == new_session_id("caller", "request")
    assert re.fullmatch(r"[A-Za-z0-9._:@-]{1,128}", made)
    others = [new_session_id("caller", "other"), new_session_id("", "request"), new_session_id("callerr", "equest")]
    assert len({made, *others}) == 4
