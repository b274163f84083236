"""The ReAct prompt: a Converse request with tools, as a system text and plain messages in English or Japanese."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agent.messages import Block, Message, has_tool_results, tool_uses, visible_text
from agent.ports import ModelRequest

STOP_SEQUENCES = ("\nObservation:", "\n観察:", "\n観察：")
THINKING_TAG = re.compile(r"</?think(?:ing)?>")
_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9f]")


_TOLD_IN_WORDS = ("type", "enum", "items", "properties", "description", "title")  # of the keywords of a schema


class Words(msgspec.Struct, frozen=True):
    """The format in one language. `instructions` has a place for the tools, `correction` one for the problem."""

    thought: str
    action: str
    action_input: str
    observation: str
    final_answer: str
    required: str
    optional: str
    no_tools: str
    error: str
    instructions: str
    correction: str
    not_understood: str
    problems: Mapping[str, str]


ENGLISH = Words(
    thought="Thought:",
    action="Action:",
    action_input="Action Input:",
    observation="Observation:",
    final_answer="Final Answer:",
    required="required",
    optional="optional",
    no_tools="(There are none at the moment.)",
    error="(error)",
    instructions="""\
# Tools

You work in steps. In each reply you either use one tool or give the answer. These are the tools:

{tools}

# Format

To use a tool, write these three lines and then stop:

Thought: what you need to find out, and how
Action: the name of one tool, exactly as it stands above
Action Input: its parameters as one JSON object, {{}} if it has none

The next message brings what the tool returned, behind "Observation:". Never write an observation yourself.

Once you know the answer, or where no tool helps, write:

Thought: why you can answer now
Final Answer: the whole answer; the user sees nothing else""",
    correction="""\
That reply could not be used: {problem} Nothing was run. Reply again, in the format: either Thought, Action and Action Input \
(one JSON object), or Thought and Final Answer.""",
    not_understood="The model's reply could not be understood; it is shown as it was written.",
    problems={
        "no_input": "the Action has no Action Input.",
        "no_object": "the Action Input is not one JSON object.",
        "no_action": "the Action Input has no Action.",
        "no_answer": "the answer is missing.",
        "no_step": "it has neither an Action nor a Final Answer.",
    },
)
JAPANESE = Words(
    thought="思考:",
    action="行動:",
    action_input="行動の入力:",
    observation="観察:",
    final_answer="最終回答:",
    required="必須",
    optional="任意",
    no_tools="(今はありません)",
    error="(エラー)",
    instructions="""\
# ツール

一歩ずつ進めます。一回の返答では、ツールを一つだけ使うか、答えを出すかのどちらかをします。使えるツールは次のとおりです。

{tools}

# 書式

ツールを使うときは、次の三行を書き、そこで止まってください。

思考: 何をどうやって調べる必要があるか
行動: 上にあるとおりのツールの名前を一つ
行動の入力: パラメーターを一つの JSON オブジェクトで。なければ {{}}

ツールの結果は、次のメッセージで「観察:」の後に届きます。観察を自分で書いてはいけません。

答えがわかったとき、またはツールが役に立たないときは、次のように書いてください。

思考: なぜ答えられるか
最終回答: 答えの全文。利用者に見えるのはここだけです""",
    correction="""\
今の返答は使えませんでした。{problem}ツールは実行されていません。「思考・行動・行動の入力(一つの JSON オブジェクト)」か\
「思考・最終回答」の書式で、もう一度書いてください。""",
    not_understood="モデルの返答を解釈できなかったため、書かれたまま表示しています。",
    problems={
        "no_input": "行動に、行動の入力がありません。",
        "no_object": "行動の入力が、一つの JSON オブジェクトではありません。",
        "no_action": "行動の入力に、行動がありません。",
        "no_answer": "答えがありません。",
        "no_step": "行動も最終回答もありません。",
    },
)


def words_for(messages: Sequence[Message]) -> Words:
    """Japanese where the latest question has kana, which no other language is written in; else English."""
    questions = (m for m in reversed(messages) if m["role"] == "user" and not has_tool_results(m))
    first = next((block.get("text", "") for message in questions for block in message["content"]), "")
    return JAPANESE if _KANA.search(first) else ENGLISH


def react_request(request: ModelRequest, words: Words) -> ModelRequest:
    """The request without tools: they are described in the system text, their uses and results stand in the messages."""
    tools = "\n\n".join(_described(each["toolSpec"], words) for each in request.tools) or words.no_tools
    system = "\n\n".join(part for part in (request.system.strip(), words.instructions.format(tools=tools)) if part)
    return ModelRequest(system, _plain(request.messages, words), [], about=request.about)


def _described(spec: dict[str, Any], words: Words) -> str:
    schema = spec["inputSchema"]["json"]
    lines = [f"## {spec['name']}", *([spec["description"]] if spec.get("description") else [])]
    for name, each in schema.get("properties", {}).items():
        needed = words.required if name in schema.get("required", []) else words.optional
        said = f": {each['description']}" if each.get("description") else ""
        lines.append(f"- {name} ({_type(each)}, {needed}){said}")
    return "\n".join(lines)


def _type(schema: dict[str, Any]) -> str:
    kinds = schema.get("type", "any")
    kind = kinds if isinstance(kinds, str) else " or ".join(kinds)
    if "enum" in schema:
        kind = " | ".join(_json(value) for value in schema["enum"])
    elif kind == "array" and isinstance(schema.get("items"), dict):
        kind = f"array of {_type(schema['items'])}"
    elif schema.get("properties"):
        kind = f"{kind} {_json(schema['properties'])}"
    more = {key: value for key, value in schema.items() if key not in _TOLD_IN_WORDS}
    return f"{kind} {_json(more)}" if more else kind


def _plain(messages: Sequence[Message], words: Words) -> list[Message]:
    """Alternating texts. Several tool uses of one message become one after the other, as if asked for one at a time."""
    results = {each["toolUseId"]: each for message in messages for each in _results(message)}
    out: list[Message] = []
    for message in messages:
        if message["role"] == "user":
            _add(out, "user", "\n\n".join(block["text"] for block in message["content"] if "text" in block))
            continue
        uses = tool_uses(message)
        said = "\n".join(block["text"] for block in message["content"] if "text" in block)
        if not uses:
            answer = visible_text(message) or THINKING_TAG.sub("", said).strip()
            _add(out, "assistant", answer and f"{words.final_answer} {answer}")
        for use in uses:
            thought = THINKING_TAG.sub("", said).strip()
            steps = [f"{words.thought} {thought}"] if thought else []
            steps += [f"{words.action} {use['name']}", f"{words.action_input} {_json(use['input'])}"]
            _add(out, "assistant", "\n".join(steps))
            _add(out, "user", _observation(results.get(use["toolUseId"], {}), words))
            said = ""
    return out


def _observation(result: Block, words: Words) -> str:
    texts = [block["text"] if "text" in block else _json(block.get("json")) for block in result.get("content", [])]
    failed = [words.error] if result.get("status") == "error" else []
    return " ".join([words.observation, *failed, "\n".join(texts)])


def _results(message: Message) -> list[Block]:
    return [block["toolResult"] for block in message["content"] if "toolResult" in block]


def _add(out: list[Message], role: str, text: str) -> None:
    """Blank texts are left out, and neighbours of one role become one message."""
    if not text.strip():
        return
    if out and out[-1]["role"] == role:
        text = f"{out.pop()['content'][0]['text']}\n\n{text}"
    out.append({"role": role, "content": [{"text": text}]})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
