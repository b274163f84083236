"""The whole loop over an OpenAI-compatible endpoint; the core can't tell the difference."""

from agent.turn.loop import Limits
from tests.agent.adapters.openai.openai_client import model_of
from tests.agent.adapters.openai.openai_server import OpenAIServer, asks, call, completion, delta, error, stream
from tests.agent.turn.turns import echo, make_turn


def test_a_turn_with_two_tools_runs_to_its_answer() -> None:
    both = asks(call("c1", "echo", '{"text": "a"}'), call("c2", "refuse"))
    with OpenAIServer(both, completion("done")) as server:
        outcome = make_turn(model_of(server)).run()
    assert (outcome.answer, outcome.stop_reason, outcome.steps) == ("done", "end_turn", 2)
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (40, 10)
    assert [record.status for record in outcome.tool_records] == ["success", "error"]
    told = [(m["role"], m["content"], m.get("tool_call_id")) for m in server.asked[1].body["messages"]]
    assert told == [
        ("system", "You help.", None),
        ("user", "question", None),
        ("assistant", None, None),
        ("tool", "a", "c1"),
        ("tool", "Error: The shop is closed.", "c2"),
    ]


def test_broken_arguments_are_answered_so_that_the_model_tries_again() -> None:
    answers = [asks(call("c1", "echo", '{"text": "a')), asks(call("c1", "echo", '{"text": "a"}')), completion("done")]
    with OpenAIServer(*answers) as server:
        outcome = make_turn(model_of(server), [echo]).run()
    assert outcome.answer == "done"
    assert [record.status for record in outcome.tool_records] == ["error", "success"]
    assert "must be a JSON object" in server.asked[1].body["messages"][3]["content"]


def test_double_and_missing_ids_and_streams_run_like_any_other() -> None:
    uses = [{"function": {"name": "echo", "arguments": "{}"}}, {"function": {"name": "echo", "arguments": {}}}]
    first = stream(delta("tool_calls", tool_calls=uses))
    with OpenAIServer(first, asks(call("c", "echo"), call("c", "echo")), completion("done")) as server:
        outcome = make_turn(model_of(server), [echo]).run()
    assert (outcome.answer, len(outcome.tool_records)) == ("done", 4)


def test_an_empty_answer_gets_one_more_try() -> None:
    with OpenAIServer(completion(None), completion("done")) as server:
        assert make_turn(model_of(server)).run().answer == "done"


def test_a_history_that_is_too_long_is_shortened() -> None:
    with OpenAIServer(completion("first"), error(400, "x", "context_length_exceeded"), completion("second")) as server:
        model = model_of(server)
        before = make_turn(model).run().messages
        assert make_turn(model, history=[before]).run().answer == "second"
    assert [len(asked.body["messages"]) for asked in server.asked] == [2, 4, 2]


def test_a_cut_answer_says_so_and_runs_no_tools() -> None:
    with OpenAIServer(completion("half", call("c1"), reason="length")) as server:
        outcome = make_turn(model_of(server), [echo]).run()
    assert outcome.stop_reason == "max_tokens"
    assert outcome.tool_records == []
    assert outcome.answer.startswith("half")


def test_a_stopped_prompt_blocks_its_turn() -> None:
    with OpenAIServer(error(400, "filtered", "content_filter")) as server:
        outcome = make_turn(model_of(server)).run()
    assert outcome.blocked


def test_the_last_step_concludes_with_the_same_tools() -> None:
    with OpenAIServer(asks(call("c1", "echo")), completion("done")) as server:
        make_turn(model_of(server), [echo], limits=Limits(max_steps=2)).run()
    assert server.asked[0].body["tools"] == server.asked[1].body["tools"]
    assert "last tool use" in server.asked[1].body["messages"][-1]["content"]
