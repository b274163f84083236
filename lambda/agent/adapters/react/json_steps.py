"""Steps that were written as JSON, as models do that were trained on tool calls of one kind or another.

`{"action": ..., "action_input": ...}` and `{"name": ..., "arguments": ...}`, bare, fenced, or behind a tag such as <tool_call>:
open-jarvis/OpenJarvis#947, NousResearch/hermes-agent#35129, langgenius/dify-official-plugins#3703.
"""

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from agent.adapters.react.reading import FINAL_NAME, NO_ACTION, Reading, Schema, bare, first_value

# Where such an object may begin: at the start, behind a thought, a tag or the label Action; in a fence or not. Behind other
# words it may be an example, so that the model is asked again.
_BEGINS = re.compile(
    r"(?:\A|<function=(?P<function>[\w-]{1,64})>|<[|/]?\w{1,20}\|?>|\[TOOL_CALLS\]|^\W{0,3}(?:action|行動)\W{1,4}|^)"
    r"\s{0,9}+(?:```[a-z]{0,10})?\s{0,9}+\[?\s{0,9}+(?=\{)",
    re.IGNORECASE | re.MULTILINE,
)
_BEFORE = re.compile(r"\W*(?:(?:thoughts?|思考)\b.*)?", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(?:tool_call|function)\b|\[TOOL_CALLS\]", re.IGNORECASE)
_NAME_KEY = re.compile(r"""["'](?:action|tool(?:_?(?:call|name))?|function|name)s?["']\s{0,9}:""", re.IGNORECASE)
_INPUT_KEY = re.compile(r"""["'](?:(?:action|tool)_?input|arguments|args|parameters)["']\s{0,9}:""", re.IGNORECASE)
_MOST = 5  # places that are looked at, and wrappings that are taken off
_WRAPPERS = ("toolcall", "toolcalls", "toolcalling", "function", "action")
_NAMES = ("action", "toolname", "tool", "name", "function")
_INPUTS = ("actioninput", "toolinput", "input", "arguments", "args", "parameters", "params")
_THOUGHTS = ("thought", "thoughts", "reasoning", "思考")
_ANSWERS = ("finalanswer", "answer", "response", "最終回答")


def step_in_json(text: str, schemas: Mapping[str, Schema]) -> Reading | None:
    """The step that is written as an object; a problem where one was meant; None where the text is none."""
    for found in itertools.islice(_BEGINS.finditer(text), _MOST):
        if not _BEFORE.fullmatch(text[: found.start()]):
            break
        value = first_value(text[found.end() :])
        if isinstance(value, dict) and found["function"]:
            value = {"name": found["function"], "arguments": value}
        step = _step(value, schemas) if isinstance(value, dict) else None
        if step:
            return replace(step, is_whole=True)
    is_meant = _TAG.search(text) or (_NAME_KEY.search(text) and _INPUT_KEY.search(text))
    return Reading(problem="no_step") if is_meant else None


def _step(value: dict[str, Any], schemas: Mapping[str, Schema]) -> Reading | None:
    thought, fields = "", dict[str, Any]()
    for _ in range(_MOST):  # {"tool_call": {...}}, {"tool_calls": [{"function": {...}}]}
        fields = {re.sub(r"[\s_-]", "", name).casefold(): each for name, each in value.items()}
        thought = thought or next((str(fields.pop(name) or "") for name in _THOUGHTS if name in fields), "")
        inner = next((fields[name] for name in _WRAPPERS if isinstance(fields.get(name), dict | list)), None)
        inner = inner[0] if isinstance(inner, list) and inner else inner
        if not isinstance(inner, dict):
            break
        value = inner
    tool = next((fields[name] for name in _NAMES if isinstance(fields.get(name), str)), "").strip()
    tool = next((name for name in schemas if name.casefold() == tool.casefold()), tool)
    given = next((fields[name] for name in _INPUTS if name in fields), None)
    answer = next((fields[name] for name in _ANSWERS if fields.get(name) not in (None, "")), None)
    is_final = bool(FINAL_NAME.fullmatch(tool) or NO_ACTION.fullmatch(tool))
    answer = given if answer is None and FINAL_NAME.fullmatch(tool) else answer
    if tool and not is_final and (tool in schemas or fields.keys() == {"action"} or given is not None):
        return replace(_used(tool, given, schemas.get(tool, {})), thought=thought)
    if answer is not None and ("finalanswer" in fields or len(fields) == 1 or is_final):
        while isinstance(answer, dict) and len(answer) == 1:
            [answer] = answer.values()
        return Reading(thought, answer=answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
    return Reading(problem="no_answer") if "finalanswer" in fields or (tool and is_final) else None


def _used(tool: str, given: Any, schema: Schema) -> Reading:
    if isinstance(given, str) and given.strip():
        value = first_value(given)
        given = value if isinstance(value, dict) else bare(given, schema)
        return Reading(name=tool, input=given) if given is not None else Reading(problem="no_object")
    if not given:
        return Reading(problem="no_input") if schema.get("required") else Reading(name=tool, input={})
    return Reading(name=tool, input=given) if isinstance(given, dict) else Reading(problem="no_object")
