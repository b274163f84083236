"""Approvals through the whole function: direct and over HTTP, in another process, by another person."""

import json
import os
from typing import Any

import botocore.session
import pytest

from local.bedrock.reply import ErrorReply, Reply
from tests.agent.edge.gateway_events import MAKERS, Maker, http_api
from tests.agent.edge.whole_function import function_at, unique
from tests.approvals.shop import ALICE, BOB, BOSS, CALL, EVE, OWNER, SECOND, Processes, Shop
from tests.fakes import FakeContext, use


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
    said = {"approved": False, "reason": "Too dear."}
    event = {"session_id": shop.session, "approvals": {asked["approvals"][0]["approval_id"]: said}}
    answer, error = shop.call(event)
    assert error is None
    assert (answer["answer"], shop.ran) == ("Done.", [])
    assert "Too dear." in json.dumps(shop.whole.requests[-1].body)


def test_a_waiting_turn_is_shown_to_its_caller_with_what_it_waits_for(shop: Shop) -> None:
    asked = shop.wait(**ALICE)
    _, shown = shop.http(http_api("GET", f"/sessions/{shop.session}", **ALICE))
    (turn,) = shown["turns"]
    assert turn["stop_reason"] == "awaiting_approval"
    assert turn["approvals"] == asked["approvals"]
    assert turn["approvals"][0].keys() == {"approval_id", "tool_use_id", "tool", "input", "expires_at"}


def test_reasoning_comes_back_signed_as_it_was(shop: Shop) -> None:
    shop.whole.play({**CALL, "reasoning": "hm, é  "}, {"text": "Done."})
    asked, _ = shop.call({"question": "refund it", "session_id": shop.session}, "asks")
    approval_id = asked["approvals"][0]["approval_id"]
    answer, _ = shop.call({"session_id": shop.session, "approvals": {approval_id: True}})
    assert answer["answer"] == "Done."
    assert "reasoningContent" in json.dumps(shop.whole.requests[-1].body)


def test_one_who_is_named_may_approve_for_another(shop: Shop) -> None:
    shop.wait(**ALICE)
    status, answer = shop.approve(body=shop.yes(caller=OWNER), process="approves", **BOB)
    assert (status, answer["answer"], shop.ran) == (200, "Done.", ["7"])
    assert shop.decision(f"{OWNER}#{shop.session}")["by"] == BOSS


@pytest.mark.parametrize("named", [True, False], ids=["for another", "for oneself"])
@pytest.mark.parametrize("who", [ALICE, EVE, {}], ids=["who asked", "a stranger", "nobody"])
def test_where_approvers_are_named_nobody_else_decides_over_http(shop: Shop, who: dict[str, Any], named: bool) -> None:
    shop.wait(**ALICE)
    shop.calls.clear()
    bodies: list[Any] = [shop.yes(caller=OWNER) if named else shop.yes(), {"approvals": {"made-up": True}}, "{", ""]
    told = []
    for session in (shop.session, "nobodys"):
        for body in bodies:
            event = http_api("POST", f"/sessions/{session}/approvals", body, **who)
            response, _ = shop.call(event, "approves")
            assert response["statusCode"] == 403
            told.append(json.loads(response["body"])["error"])
    assert all(each == told[0] for each in told)
    assert told[0]["code"] == "forbidden"
    assert told[0]["message"]
    assert (shop.calls, shop.ran) == ([], [])  # forbidden before anything is read


def test_an_approver_may_approve_what_he_asked_for_himself(shop: Shop) -> None:
    shop.wait(**BOB)
    assert shop.approve(process="approves", **BOB)[0] == 200
    assert shop.ran == ["7"]


def test_an_approver_who_does_not_say_whose_it_is_means_his_own(shop: Shop) -> None:
    shop.wait(**ALICE)
    status, answer = shop.approve(process="approves", **BOB)
    assert (status, answer["error"]["code"], shop.ran) == (404, "not_found", [])


@pytest.mark.parametrize("caller", [OWNER, "direct", "anonymous"])
def test_nobody_may_approve_for_another_where_no_one_is_named(shop: Shop, caller: str) -> None:
    if caller == OWNER:
        shop.wait(**ALICE)
    elif caller == "direct":
        shop.wait_directly()
    else:
        shop.wait()
    status, answer = shop.approve(body=shop.yes(caller=caller), **BOB)
    assert (status, answer["error"]["code"], shop.ran) == (404, "not_found", [])


def test_one_may_name_oneself_as_the_caller(shop: Shop) -> None:
    shop.wait(**ALICE)
    assert shop.approve(body=shop.yes(caller=OWNER), **ALICE)[0] == 200


def test_an_approver_decides_for_direct_invocations(shop: Shop) -> None:
    shop.wait_directly()
    status, answer = shop.approve(body=shop.yes(caller="direct"), process="approves", **BOB)
    assert (status, answer["answer"], shop.ran) == (200, "Done.", ["7"])
    assert shop.contexts == [("", BOSS)]


@pytest.mark.parametrize("process", ["decides", "approves"])
def test_who_may_invoke_the_function_may_approve_for_anyone(shop: Shop, process: str) -> None:
    shop.wait(**ALICE)
    answer, error = shop.call({"session_id": shop.session, **shop.yes(caller=OWNER)}, process)
    assert error is None
    assert (answer["answer"], shop.ran) == ("Done.", ["7"])
    assert shop.decision(f"{OWNER}#{shop.session}")["by"] == "direct"
    assert shop.contexts == [(OWNER, "direct")]


@pytest.mark.parametrize("more", [{}, {"caller": "direct"}], ids=["left out", "said"])
def test_a_direct_invocation_decides_for_direct_ones(shop: Shop, more: dict[str, Any]) -> None:
    shop.wait_directly()
    answer, _ = shop.call({"session_id": shop.session, **shop.yes(**more)}, "approves")
    assert (answer["answer"], shop.contexts) == ("Done.", [("", "direct")])


def test_a_tool_knows_who_said_yes(shop: Shop) -> None:
    shop.wait(**ALICE)
    shop.approve(body=shop.yes(caller=OWNER), process="approves", **BOB)
    assert shop.contexts == [(OWNER, BOSS)]


def test_where_nothing_waits_it_is_not_found(shop: Shop) -> None:
    status, answer = shop.approve()
    assert (status, answer["error"]["code"]) == (404, "not_found")
    direct, error = shop.call({"session_id": shop.session, "approvals": {"t1": True}})
    assert error is None
    assert direct["error"]["code"] == "not_found"  # returned, since no retry can mend it


def test_a_decision_is_logged_without_what_was_said(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.wait(**ALICE)
    body = {"approvals": {shop.asked: {"approved": False, "reason": "my secret"}}, "caller": OWNER}
    with caplog.at_level("INFO"):
        shop.approve(body=body, process="approves", **BOB)
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
    yes = {waiting["approvals"][0]["approval_id"]: True}
    answer, _ = shop.call({"session_id": shop.session, "approvals": yes}, "falls back later")
    assert (answer["answer"], answer["model_id"], shop.ran) == ("Done.", SECOND, ["7"])
    assert asked[before:] == [SECOND]


def test_reasoning_goes_to_the_model_that_wrote_it_alone(shop: Shop) -> None:
    second = {**CALL, "tool_use": {**CALL["tool_use"], "id": "t2"}, "reasoning": "hm again"}
    shop.whole.play({**CALL, "reasoning": "hm"}, second, {"text": "Done."})
    asked, _ = shop.call({"question": "refund it", "session_id": shop.session}, "asks")
    for process, knows in (("has another model", ""), ("has another model", "hm again")):
        yes = {each["approval_id"]: True for each in asked["approvals"]}
        asked, error = shop.call({"session_id": shop.session, "approvals": yes}, process)
        assert error is None
        request = shop.whole.requests[-1]
        assert request.model_id == SECOND
        thoughts = [
            b["reasoningContent"] for m in request.body["messages"] for b in m["content"] if "reasoningContent" in b
        ]
        assert [each["reasoningText"]["text"] for each in thoughts] == ([knows] if knows else [])
    assert (asked["answer"], shop.ran) == ("Done.", ["7", "7"])
    stored = shop.whole.items(shop.session)[0]["messages"]["S"]
    shop.whole.play({"text": "Sure."})
    assert shop.call({"question": "and?", "session_id": shop.session})[0]["answer"] == "Sure."
    assert "Another model goes on" not in stored


def test_the_function_publishes_to_the_topic_of_its_settings(processes: Processes) -> None:
    session: Any = botocore.session.get_session()
    sns, sqs = (session.create_client(service, region_name="us-east-1") for service in ("sns", "sqs"))
    topic = sns.create_topic(Name=unique("approvals"))["TopicArn"]
    queue = sqs.create_queue(QueueName=unique("told"))["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    url = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
    whole, answers = processes.whole, list[Any]()
    for content in ("false", "true"):
        function = function_at(
            whole.server,
            APPROVAL_TOPIC=topic,
            AWS_ENDPOINT_URL_SNS=url,
            AWS_DEFAULT_REGION="us-east-1",
            TOOLS="tickets",
            LOG_CONTENT=content,
            POWERTOOLS_SERVICE_NAME=unique("told"),
        )
        refund = {"order_id": "A-1001", "amount": 1, "reason": "broken"}
        whole.play(Reply([use("t1", "refund_order", refund)], "tool_use"))
        answers.append(function.answer({"question": "refund it"}, FakeContext(unique("invocation")))[0])
    messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    told = [json.loads(message["Body"]) for message in messages]
    assert sorted(told, key=str) == sorted(
        (
            {
                "session_id": answer["session_id"],
                "caller": "direct",
                "approvals": [{name: entry[name] for name in names} for entry in answer["approvals"]],
            }
            for answer, names in zip(answers, (_TOLD, (*_TOLD, "input")), strict=True)
        ),
        key=str,
    )


_TOLD = ("approval_id", "tool", "expires_at")
