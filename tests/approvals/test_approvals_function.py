"""Approvals through the whole function: direct and over HTTP, in another process, by another person."""

import json
from typing import Any

import pytest

from agent.errors import NotFoundError
from local.bedrock.reply import ErrorReply, Reply
from tests.agent.edge.gateway_events import MAKERS, Maker, http_api
from tests.approvals.shop import ALICE, BOB, BOSS, CALL, EVE, OWNER, SECOND, Shop


@pytest.mark.parametrize("maker", MAKERS)
def test_a_turn_goes_on_over_http_in_another_process(shop: Shop, maker: Maker) -> None:
    asked = shop.wait(maker)
    assert asked["approvals"][0]["input"] == {"order": "7"}
    status, answer = shop.approve(maker)
    assert (status, answer["answer"], answer["turn"], answer["steps"]) == (200, "Done.", 1, 2)
    assert answer["session_id"] == shop.session
    assert shop.ran == ["7"]


def test_a_turn_goes_on_directly_in_another_process(shop: Shop) -> None:
    shop.whole.play(CALL, {"text": "Done."})
    asked, _ = shop.call({"question": "refund it", "session_id": shop.session}, "asks")
    assert asked["stop_reason"] == "awaiting_approval"
    event = {"session_id": shop.session, "approvals": {"t1": {"approved": False, "reason": "Too dear."}}}
    answer, error = shop.call(event)
    assert error is None
    assert (answer["answer"], shop.ran) == ("Done.", [])
    assert "Too dear." in json.dumps(shop.whole.requests[-1].body)


def test_a_waiting_turn_is_shown_to_its_caller(shop: Shop) -> None:
    shop.wait(**ALICE)
    _, shown = shop.http(http_api("GET", f"/sessions/{shop.session}", **ALICE))
    assert shown["turns"][0]["stop_reason"] == "awaiting_approval"


def test_reasoning_comes_back_signed_as_it_was(shop: Shop) -> None:
    shop.whole.play({**CALL, "reasoning": "hm, é  "}, {"text": "Done."})
    shop.call({"question": "refund it", "session_id": shop.session}, "asks")
    answer, _ = shop.call({"session_id": shop.session, "approvals": {"t1": True}})
    assert answer["answer"] == "Done."
    assert "reasoningContent" in json.dumps(shop.whole.requests[-1].body)


def test_one_who_is_named_may_approve_for_another(shop: Shop) -> None:
    shop.wait(**ALICE)
    status, answer = shop.approve(body={"approvals": {"t1": True}, "caller": OWNER}, **BOB)
    assert (status, answer["answer"], shop.ran) == (200, "Done.", ["7"])
    stored = json.loads(shop.whole.items(f"{OWNER}#{shop.session}")[0]["approvals"]["S"])
    assert stored["t1"]["by"] == BOSS


def test_one_who_is_not_named_reaches_nothing_and_learns_nothing(shop: Shop) -> None:
    shop.wait(**ALICE)
    replies = []
    for caller, session in ((OWNER, shop.session), (OWNER, "nobodys"), ("nobody", shop.session)):
        body = {"approvals": {"t1": True}, "caller": caller}
        response, _ = shop.call(http_api("POST", f"/sessions/{session}/approvals", body, **EVE))
        assert response["statusCode"] == 404
        replies.append({**response, "body": json.loads(response["body"])["error"]})
    assert replies[0] == replies[1] == replies[2]
    assert shop.approve(**EVE)[0] == 404  # her own session of that name
    assert shop.approve(**BOB)[0] == 404  # nor his own, without saying whose
    assert shop.ran == []
    assert shop.approve(**ALICE)[0] == 200


def test_nobody_may_approve_for_another_where_no_one_is_named(shop: Shop) -> None:
    shop.wait(**ALICE)
    body = {"approvals": {"t1": True}, "caller": OWNER}
    event = http_api("POST", f"/sessions/{shop.session}/approvals", body, **BOB)
    assert shop.http(event, "asks")[0] == 404
    assert shop.http(event, "approves for anonymous")[0] == 404
    assert shop.ran == []


def test_who_may_invoke_the_function_may_approve_for_anyone(shop: Shop) -> None:
    shop.wait(**ALICE)
    answer, error = shop.call({"session_id": shop.session, "approvals": {"t1": True}, "caller": OWNER})
    assert error is None
    assert (answer["answer"], shop.ran) == ("Done.", ["7"])


def test_where_nothing_waits_it_is_not_found(shop: Shop) -> None:
    status, answer = shop.approve()
    assert (status, answer["error"]["code"]) == (404, "not_found")
    _, error = shop.call({"session_id": shop.session, "approvals": {"t1": True}})
    assert isinstance(error, NotFoundError)


def test_a_decision_is_logged_without_what_was_said(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.wait(**ALICE)
    body = {"approvals": {"t1": {"approved": False, "reason": "my secret"}}, "caller": OWNER}
    with caplog.at_level("INFO"):
        shop.approve(body=body, **BOB)
    (record,) = [vars(each) for each in caplog.records if each.message == "approval"]
    assert (record["approved"], record["by"], record["session_id"]) == (False, BOSS, shop.session)
    assert (record["gen_ai.tool.name"], record["gen_ai.tool.call.id"]) == ("refund", "t1")
    assert not any("my secret" in str(vars(each)) for each in caplog.records)


def test_a_turn_that_waits_stays_with_the_model_that_answered(shop: Shop) -> None:
    asked: list[str] = []

    def model(model_id: str, request: dict[str, Any]) -> Reply:
        asked.append(model_id)
        if model_id != SECOND:
            return Reply([], error=ErrorReply("ModelErrorException", 424, "", False))
        if len(request["messages"]) > 1:
            return Reply([{"text": "Done."}])
        thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2lnbmVk"}}}
        call = {"toolUse": {"toolUseId": "t1", "name": "refund", "input": {"order": "7"}}}
        return Reply([thought, call], "tool_use")

    shop.whole.answer_with(model)
    question = {"question": "refund it", "session_id": shop.session}
    waiting, _ = shop.call(question, "falls back")
    assert (waiting["stop_reason"], waiting["model_id"]) == ("awaiting_approval", SECOND)
    before = len(asked)
    answer, _ = shop.call({"session_id": shop.session, "approvals": {"t1": True}}, "falls back later")
    assert (answer["answer"], answer["model_id"], shop.ran) == ("Done.", SECOND, ["7"])
    assert asked[before:] == [SECOND]
