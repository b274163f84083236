"""Bodies of approvals that are wrong, and what is made of the right ones."""

import json
from typing import Any

import pytest

from tests.agent.edge.gateway_events import error_code, http_api
from tests.approvals.shop import BOB, Shop


@pytest.mark.parametrize("caller", ["", "a#b", "#tokens#", 5, ["x"], "x" * 129])
def test_a_caller_that_is_none_is_refused(shop: Shop, caller: object) -> None:
    status, answer = shop.approve(body=shop.yes(caller=caller), process="approves", **BOB)
    assert (status, answer["error"]["code"]) == (400, "invalid_request")


WRONG: list[Any] = [
    "",
    "[1]",
    "{",
    {},
    {"approvals": None},
    {"approvals": []},
    {"approvals": {}},
    {"approvals": {"t1": None}},
    {"approvals": {"t1": 1}},
    {"approvals": {"t1": "true"}},
    {"approvals": {"t1": {}}},
    {"approvals": {"t1": {"approved": "yes"}}},
    {"approvals": {"t1": {"approved": 1}}},
    {"approvals": {"t1": {"approved": False, "reason": 5}}},
    {"approvals": {"": True}},
    {"approvals": {"t 1": True}},
    {"approvals": {"t1": True, "x" * 65: True}},
    {"approvals": {f"t{number}": True for number in range(5_000)}},
]


@pytest.mark.parametrize("body", WRONG, ids=lambda body: json.dumps(body)[:50])
def test_a_wrong_body_is_told_and_decides_nothing(shop: Shop, body: Any) -> None:
    shop.wait()
    status, answer = shop.approve(body=body)
    assert (status, answer["error"]["code"]) == (400, "invalid_request")
    if isinstance(body, dict) and "approvals" in body:
        direct, error = shop.call({**body, "session_id": shop.session})
        assert error is None
        assert direct["error"]["code"] == "invalid_request"
    assert shop.ran == []
    assert shop.approve()[0] == 200


@pytest.mark.parametrize("session_id", [None, "", "a#b", 5])
def test_a_direct_approval_names_its_session(shop: Shop, session_id: object) -> None:
    answer, error = shop.call({"approvals": {"t1": True}, "session_id": session_id})
    assert error is None
    assert answer["error"]["code"] == "invalid_request"


def test_approvals_are_only_taken_by_their_method(shop: Shop) -> None:
    event = http_api("GET", f"/sessions/{shop.session}/approvals")
    response, _ = shop.call(event)
    assert (response["statusCode"], error_code(response)) == (405, "method_not_allowed")


def test_the_reason_of_a_no_is_bounded_and_clean(shop: Shop) -> None:
    shop.wait()
    body = {"approvals": {shop.asked: {"approved": False, "reason": "あ\ud83d" * 50_000}}}
    assert shop.approve(body=body)[0] == 200
    assert len(json.dumps(shop.whole.requests[-1].body)) < 20_000
