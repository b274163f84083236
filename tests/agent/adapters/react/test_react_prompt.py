"""The ReAct prompt: what a model without tool use is sent instead of tools, tool uses and tool results."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.adapters.react.model import ReActModel
from agent.adapters.react.prompt import ENGLISH
from agent.deadline import Deadline
from agent.messages import Message, assistant_text, tool_result, user_text
from agent.ports import ModelRequest
from agent.tooling.tool import tool_from_schema
from agent.turn.repair import repair
from tests.agent.turn.strategies import EXAMPLES, STORED_MESSAGES
from tests.agent.turn.turns import boom, echo
from tests.fakes import LLAMA, FakeModel, reply, thought, use, wire_body

SEARCH: dict[str, Any] = {
    "toolSpec": {
        "name": "search",
        "description": "Search the web.",
        "inputSchema": {
            "json": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "what to look for"},
                    "kind": {"type": "string", "enum": ["news", "people"]},
                    "sites": {"type": "array", "items": {"type": "string"}},
                    "area": {"type": "object", "properties": {"country": {"type": "string"}}},
                },
                "required": ["query"],
            }
        },
    }
}


def _sent(*messages: Message, tools: Sequence[dict[str, Any]] = (SEARCH, boom.spec, echo.spec)) -> ModelRequest:
    """What the wrapped model is sent for these messages."""
    model = FakeModel([reply("Final Answer: ok")])
    ReActModel(model).converse(ModelRequest("You help.", messages, tools), Deadline.after(60))
    return model.requests[0]


def _texts(request: ModelRequest) -> list[tuple[str, str]]:
    for message in request.messages:
        assert [list(block) for block in message["content"]] == [["text"]]
    return [(message["role"], message["content"][0]["text"]) for message in request.messages]


def test_the_tools_and_the_format_stand_in_the_system_text() -> None:
    sent = _sent(user_text("question"))
    assert sent.tools == []
    assert sent.system.startswith("You help.\n\n")
    for line in (
        "## search",
        "Search the web.",
        "- query (string, required): what to look for",
        '- kind ("news" | "people", optional)',
        "- sites (array of string, optional)",
        '- area (object {"country": {"type": "string"}}, optional)',
        "## boom",
        "- text (string, optional): what to say",
    ):
        assert line in sent.system.splitlines()
    for label in ("Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:"):
        assert label in sent.system
    assert "{}" in sent.system
    assert _texts(sent) == [("user", "question")]


def test_what_a_json_schema_says_of_a_parameter_is_told_behind_its_type() -> None:
    schema = {
        "type": "object",
        "properties": {
            "size": {
                "type": ["integer", "null"],
                "minimum": 1,
                "default": 3,
                "description": "how many",
                "title": "Size",
            },
            "who": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "pairs": {"type": "array", "items": {"type": "array", "items": {}}, "maxItems": 2},
            "any": {},
        },
        "required": ["id"],
    }
    spec = tool_from_schema("plan", "Plan.", schema, str).spec
    lines = _sent(user_text("question"), tools=[spec]).system.splitlines()
    assert '- size (integer or null {"minimum": 1, "default": 3}, optional): how many' in lines
    assert '- who (any {"anyOf": [{"type": "string"}, {"type": "integer"}]}, optional)' in lines
    assert '- pairs (array of array of any {"maxItems": 2}, optional)' in lines
    assert "- any (any, optional)" in lines


def test_stop_sequences_reach_bedrock() -> None:
    body = wire_body(_sent(user_text("question")), LLAMA)
    assert body["inferenceConfig"] == {"maxTokens": 1024, "stopSequences": ["\nObservation:", "\n観察:", "\n観察："]}
    assert "toolConfig" not in body


@pytest.mark.parametrize(
    ("question", "is_japanese"),
    [
        ("明日の天気は?", True),
        ("AWS Lambdaとは", True),
        ("ﾃﾝｷ?", True),
        ("What is the weather?", False),
        ("天气怎么样?", False),
        ("날씨 어때?", False),
    ],
)
def test_the_format_is_japanese_where_the_question_is(question: str, is_japanese: bool) -> None:
    history = [user_text("こんにちは" if not is_japanese else "Hello"), assistant_text("Hi.")]
    sent = _sent(*history, user_text(question))
    assert [each in sent.system for each in ("思考:", "行動の入力:", "必須")] == [is_japanese] * 3
    assert ("Thought:" in sent.system) is not is_japanese
    assert _texts(sent)[1] == ("assistant", "最終回答: Hi." if is_japanese else "Final Answer: Hi.")


def test_a_result_in_another_language_does_not_change_the_language_of_the_format() -> None:
    asked: Message = {"role": "assistant", "content": [use("t1", "search", {"query": "x"})]}
    result: Message = {"role": "user", "content": [tool_result("t1", "これは日本語です", "success")]}
    assert "Thought:" in _sent(user_text("question"), asked, result).system


def test_tool_uses_and_results_of_the_history_become_steps_in_the_format() -> None:
    asked: Message = {
        "role": "assistant",
        "content": [
            thought(),
            {"text": "<thinking>two at once</thinking>"},
            use("t1", "search", {"query": "東京"}),
            use("t2", "boom"),
        ],
    }
    found = {"toolResult": {"toolUseId": "t1", "content": [{"json": {"n": 1}}, {"text": "more"}], "status": "success"}}
    results: Message = {"role": "user", "content": [found, tool_result("t2", "It failed.")]}
    answered = assistant_text("<thinking>so</thinking>42")
    sent = _sent(user_text("question"), asked, results, answered, user_text("next"), tools=[])
    assert _texts(sent) == [
        ("user", "question"),
        ("assistant", 'Thought: two at once\nAction: search\nAction Input: {"query": "東京"}'),
        ("user", 'Observation: {"n": 1}\nmore'),
        ("assistant", "Action: boom\nAction Input: {}"),
        ("user", "Observation: (error) It failed."),
        ("assistant", "Final Answer: 42"),
        ("user", "next"),
    ]
    assert ENGLISH.no_tools in sent.system


def test_neighbours_of_one_role_become_one_message() -> None:
    only_thought: Message = {"role": "assistant", "content": [thought()]}
    sent = _sent(user_text("one"), only_thought, user_text("two"))
    assert _texts(sent) == [("user", "one\n\ntwo")]


@settings(EXAMPLES, max_examples=60)
@given(st.lists(STORED_MESSAGES, max_size=2), st.sampled_from(["question", "質問は?"]))
def test_whatever_was_stored_becomes_plain_texts_that_every_model_takes(stored: list[Any], question: str) -> None:
    seen: set[str] = set()
    history = [message for messages in stored for message in repair(messages, seen)]
    roles = [role for role, _ in _texts(_sent(*history, user_text(question)))]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
