"""The loop over ReActModel: the same turns as over a model with tool use, told in texts."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

import pytest

from agent.adapters.bedrock.model import BedrockModel, Inference
from agent.adapters.mending import MendingModel
from agent.adapters.react.model import ReActModel
from agent.adapters.react.prompt import ENGLISH, JAPANESE, Words
from agent.aws.client import AWS
from agent.errors import ToolError
from agent.messages import Message, assistant_text
from agent.ports import Model, ModelReply
from agent.tooling.tool import Tool, tool
from agent.tooling.toolbox import ToolLimits
from agent.turn.loop import CONCLUDE, Limits
from agent.turn.outcome import Outcome
from local.bedrock.script import ScriptedModel
from local.bedrock.server import BedrockServer
from tests.agent.edge.whole_function import least_environment
from tests.agent.turn.turns import Notes, boom, echo, make_turn, refuse, spy
from tests.fakes import LLAMA, FakeJournal, FakeModel, asks, reply, use


def _in_words(told: ModelReply, words: Words) -> ModelReply:
    """What a model without tool use would write for this reply."""
    lines = [f"{words.thought} I wonder."]
    for block in told.content:
        if "toolUse" in block:
            given = json.dumps(block["toolUse"]["input"], ensure_ascii=False)
            lines += [f"{words.action} {block['toolUse']['name']}", f"{words.action_input} {given}"]
        else:
            lines.append(f"{words.final_answer} {block['text']}")
    is_cut = told.stop_reason in ("max_tokens", "content_filtered")
    text = "\n".join(lines)
    return reply(text, stop_reason=told.stop_reason if is_cut else "stop_sequence", tokens=told.usage.total)


def _told(outcome: Outcome, notes: Notes) -> dict[str, Any]:
    """All that a caller, a store or a log can learn of a turn, but for the ids and the thoughts."""
    return {
        "answer": outcome.answer,
        "end": (outcome.stop_reason, outcome.steps, outcome.usage.total, outcome.model_id, outcome.blocked),
        "tools": [
            (r.name, r.status, r.input, r.result["toolResult"]["content"], r.error) for r in outcome.tool_records
        ],
        "roles": [message["role"] for message in outcome.messages],
        "written": len(notes.written),
    }


TURNS: dict[str, list[ModelReply]] = {
    "an answer": [reply("Hello.", tokens=10)],
    "one tool": [asks(use("t1", "echo", {"text": "東京は晴れ🌞"}), tokens=20), reply("Sunny.", tokens=30)],
    "several steps": [asks(use(f"t{n}", "echo", {"text": str(n)})) for n in range(5)] + [reply("done")],
    "the same call again": [asks(use("t1")), asks(use("t2")), reply("done")],
    "a tool that fails": [asks(use("t1", "boom")), asks(use("t2", "refuse")), reply("It is closed.")],
    "a tool that isn't there": [asks(use("t1", "get_wether", {"city": "Tokyo"})), reply("I can't tell.")],
    "a bad name": [asks(use("t1", "a.b(c=1)")), reply("Sorry.")],
    "wrong arguments": [asks(use("t1", "echo", {"text": 5})), asks(use("t2", "echo", {"txt": ""})), reply("Sorry.")],
    "side effects": [asks(use("t1", "save", {"path": "/a"})), reply("saved")],
    "an answer that was cut off": [asks(use("t1")), reply("The first of", stop_reason="max_tokens")],
    "a filtered answer": [reply("Once", stop_reason="content_filtered")],
    "too many steps": [asks(use(f"t{n}", "echo", {"text": str(n)})) for n in range(9)],
    "lines and code": [reply("1. `one`\n2. two\n\n```python\nprint('Action')\n```")],
}


def _run(model: Model, question: str, history: Sequence[list[Message]] = ()) -> tuple[Outcome, Notes]:
    remember, _ = spy("save", side_effects=True)
    notes = Notes()
    turn = make_turn(
        model,
        [echo, boom, refuse, remember],
        question=question,
        history=history,
        notes=notes,
        limits=Limits(max_steps=6),
        tool_limits=ToolLimits(result_max_chars=500),
    )
    return turn.run(), notes


@pytest.mark.parametrize(("question", "words"), [("question", ENGLISH), ("質問です", JAPANESE)])
@pytest.mark.parametrize("name", TURNS)
def test_the_loop_can_not_tell_the_difference(name: str, question: str, words: Words) -> None:
    used, used_notes = _run(FakeModel(TURNS[name]), question)
    texts = FakeModel([_in_words(each, words) for each in TURNS[name]])
    written, written_notes = _run(ReActModel(texts), question)
    assert _told(written, written_notes) == _told(used, used_notes)
    assert all(words.final_answer in sent.system for sent in texts.requests)


def test_a_session_can_change_from_one_kind_of_model_to_the_other() -> None:
    history: list[list[Message]] = []
    for number, name in enumerate(("one tool", "a tool that fails", "several steps", "an answer")):
        model = FakeModel(TURNS[name] if number % 2 else [_in_words(each, ENGLISH) for each in TURNS[name]])
        outcome, _ = _run(model if number % 2 else ReActModel(model), "question", history)
        assert outcome.answer == TURNS[name][-1].content[0]["text"]
        history.append(outcome.messages)
    ids = [b["toolUse"]["toolUseId"] for turn in history for m in turn for b in m["content"] if "toolUse" in b]
    assert len(ids) == len(set(ids)) == 8


def test_the_last_result_tells_that_no_more_tools_can_be_run() -> None:
    texts = FakeModel([_in_words(each, ENGLISH) for each in TURNS["too many steps"]])
    _run(ReActModel(texts), "question")
    assert str(texts.requests[-1].messages[-1]["content"][0]["text"]).endswith(CONCLUDE)


def test_a_reply_that_can_not_be_understood_ends_the_turn_with_an_answer_that_says_so() -> None:
    texts = FakeModel([_in_words(TURNS["one tool"][0], ENGLISH), reply("Action: echo"), reply("Action: echo")])
    outcome, _ = _run(ReActModel(texts), "question")
    assert outcome.answer == f"Action: echo\n\n{ENGLISH.not_understood}"
    assert outcome.messages[-1] == assistant_text("Action: echo")
    assert (outcome.stop_reason, outcome.steps, len(outcome.tool_records)) == ("end_turn", 2, 1)


_PAGES = {
    "Hana Kisaragi": "Hana Kisaragi (born 3 March 1984) is a cellist. She turned 41 this year.",
    "如月はな": "如月はな(1984年3月3日生まれ)はチェリスト。今年41歳になった。",
}


@tool
def search_web(query: Annotated[str, "what to look for"]) -> str:
    """Search the web."""
    for name, page in _PAGES.items():
        if name in query:
            return page
    raise ToolError("Nothing was found.")


@tool
def calculate(formula: Annotated[str, "such as 2 * 3"]) -> int:
    """Calculate a product exactly."""
    left, _, right = formula.partition("*")
    return int(left) * int(right)


def test_a_search_and_a_calculation_answer_one_question() -> None:
    outcome, texts = _research(
        "How old is the cellist Hana Kisaragi, and what do that many candles at 100 yen each cost?",
        """I need her age first. I'll search.
Action: search_web
Action Input: {"query": "Hana Kisaragi age"}""",
        """Thought: She is 41, so there are 41 candles at 100 yen.
**Action:** calculate
**Action Input:**
```json
{"formula": "41 * 100"}
```
Observation: 4200
Thought: I know the answer.
Final Answer: 4,200 yen.""",
        """Thought: I now know the final answer.
Final Answer: She is 41 years old, and 41 candles at 100 yen each cost 4,100 yen.""",
    )
    assert outcome.answer == "She is 41 years old, and 41 candles at 100 yen each cost 4,100 yen."
    assert texts == [
        "Observation: Hana Kisaragi (born 3 March 1984) is a cellist. She turned 41 this year.",
        'Observation: {"result": 4100}',
    ]


def test_a_search_and_a_calculation_answer_one_question_in_japanese() -> None:
    outcome, texts = _research(
        "チェリストの如月はなは何歳ですか。その数のろうそくを1本100円で買うといくらですか。",
        "思考：まず年齢を調べる。\n行動：search_web\n行動の入力：如月はな 年齢",
        "思考：41歳なので、ろうそくは41本。\n行動：calculate\n行動の入力：{'formula': '41 * 100'}\n観察：4200\n最終回答：4200円",
        "思考：答えがわかった。\n最終回答：41歳です。ろうそく41本は4,100円です。",
    )
    assert outcome.answer == "41歳です。ろうそく41本は4,100円です。"
    assert texts == [
        "観察: 如月はな(1984年3月3日生まれ)はチェリスト。今年41歳になった。",
        '観察: {"result": 4100}',
    ]


def test_a_model_of_bedrock_that_takes_neither_tools_nor_stop_sequences_uses_tools() -> None:
    refusal = "This model doesn't support the stopSequences field. Remove stopSequences and try again."
    script = ScriptedModel(
        [
            {"error": "ValidationException", "message": refusal},
            {"text": 'Action: echo\nAction Input: {"text": "hi"}\nObservation: h', "stop_reason": "max_tokens"},
            {"text": "Thought: done\nFinal Answer: It said hi."},
        ]
    )
    with BedrockServer(script) as server:
        client = AWS(least_environment(AWS_ENDPOINT_URL=server.url)).client("bedrock-runtime")
        outcome = make_turn(
            ReActModel(MendingModel(BedrockModel(client, LLAMA, Inference(1024)), FakeJournal().warning))
        ).run()
    assert (outcome.answer, outcome.stop_reason, outcome.steps) == ("It said hi.", "end_turn", 2)
    assert [(r.name, r.input) for r in outcome.tool_records] == [("echo", {"text": "hi"})]
    bodies = [request.body for request in server.requests]
    assert ["stopSequences" in body["inferenceConfig"] for body in bodies] == [True, False, False]
    assert not any("toolConfig" in body for body in bodies)
    assert not any(request.violations for request in server.requests)


def _research(question: str, *written: str) -> tuple[Outcome, list[str]]:
    """The turn, and what the model was told in its later steps."""
    tools: list[Tool[..., Any]] = [search_web, calculate]
    model = FakeModel([reply(text, stop_reason="end_turn") for text in written])
    outcome = make_turn(ReActModel(model), tools, question=question).run()
    assert [(r.name, r.status) for r in outcome.tool_records] == [("search_web", "success"), ("calculate", "success")]
    assert (outcome.stop_reason, outcome.steps) == ("end_turn", 3)
    return outcome, [request.messages[-1]["content"][0]["text"] for request in model.requests[1:]]
