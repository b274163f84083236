"""What a model wrote in the ReAct format, read with patience: in linear time, and without raising, whatever it is.

Only the first step counts. What stands behind it was written without knowing the tool's result, and is cut off.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.adapters.react.prompt import THINKING_TAG

# Every repetition behind a label's first letter is bounded: two unbounded ones side by side would take quadratic time.
_NAMES = (
    r"(?:(?P<thought>thoughts?|思考)|(?P<input>action[ _]?input|行動の?入力)|(?P<action>action|行動)"
    r"|(?P<observation>observations?|観察)|(?P<final>final[ _]?answer|最終回答)"
    # what models make up behind an input; elsewhere it is a word like any other
    r"|(?P<other>(?:(?:action|tool|function)[ _]?)?(?:output|result|response|return|reply|answer)s?|question|user|human"
    r"|(?:行動の?)?(?:結果|出力|応答)|質問|回答))"
)
_AT_LINE_START = (
    rf"^[ \t\u3000]*(?:[>#*_`-][>#*_` -]{{0,4}})?(?i:{_NAMES})"
    r"[ \t]{0,3}\d{0,2}[*_`]{0,3}[ \t]{0,3}[:：][*_`]{0,3}"
)
_WITHIN_A_LINE = (
    r"(?<=[ \t.。!！?？])(?:(?P<inner_input>Action Input|行動の?入力)|(?P<inner_final>Final Answer|最終回答)"
    r"|(?P<inner_action>Action|行動)(?=[:：][^\n]{0,80}\n?[ *]{0,3}(?:Action Input|行動の?入力)))[:：]"
)
LABEL = re.compile(f"{_AT_LINE_START}|{_WITHIN_A_LINE}", re.MULTILINE)
FINAL_NAME = re.compile(r"[ \t`*]{0,3}(?:final[ _]?answer|最終回答)[ \t*`]{0,3}[:：]?", re.IGNORECASE)
NO_ACTION = re.compile(r"(?:none|n/a|no action|nothing|なし|無し|不要)(?:[ (（,、].*)?", re.IGNORECASE)
_NO_INPUT = re.compile(r"none|n/a|null|なし|無し", re.IGNORECASE)
_LONGEST_LINE = 200  # characters of a line that is to name a tool
_AROUND_NAMES = " \t\u3000`*\"'「」[].。"
_FENCED = re.compile(r"```[a-zA-Z0-9]{0,20}\s*(.*?)(?:```|\Z)", re.DOTALL)
# What Python writes and JSON doesn't. Strings are matched so that nothing in them is, those without an end to the end of the
# text: to fail there and begin anew at the next quote would take quadratic time.
_PYTHONIC = re.compile(
    r"""'(?:[^'\\]|\\.?)*+'?|"(?:[^"\\]|\\.?)*+"?|\b(?:True|False|None)\b|,(?=\s{0,9}[}\]])|[：，]""", re.DOTALL
)
_AS_JSON = {"True": "true", "False": "false", "None": "null", ",": "", "：": ":", "，": ","}
_DECODER = json.JSONDecoder(strict=False)  # models leave line ends in strings as they are

Schema = Mapping[str, Any]


class Reading(msgspec.Struct, frozen=True):
    """A tool use (`name` and `input`), an `answer`, or a `problem` by its key; all blank where nothing was said.

    `is_whole`: it can't go on, whatever would have been written behind it.
    """

    thought: str = ""
    name: str = ""
    input: dict[str, Any] | None = None
    answer: str = ""
    problem: str = ""
    is_whole: bool = False


class _Part(msgspec.Struct, frozen=True):
    kind: str
    begin: int  # where its label begins
    start: int  # where its text begins
    end: int


def read(text: str, schemas: Mapping[str, Schema], *, cut_off: bool = False) -> Reading:
    """The first step in a reply. `schemas` are those of the tools, by name; `cut_off`: the model had more to say."""
    text = said(text.replace("\r\n", "\n"))
    parts = _parts(text)
    if not parts:
        return Reading(answer=text.strip())
    thoughts = [text[: parts[0].begin]]
    step = _step(text, parts, schemas, thoughts, cut_off)
    return replace(step, thought=THINKING_TAG.sub("", "\n".join(thoughts)).strip())


def _step(
    text: str, parts: Sequence[_Part], schemas: Mapping[str, Schema], thoughts: list[str], cut_off: bool
) -> Reading:
    """The first action or answer; what was thought before it is added to `thoughts`."""
    for index, part in enumerate(parts):
        match part.kind:
            case "thought":
                thoughts.append(text[part.start : part.end].strip())
            case "final":
                end = next((p.begin for p in parts[index:] if p.kind in ("thought", "observation")), len(text))
                return _answered(text[part.start : end], is_whole=end < len(text))
            case "input" if index == 0 or parts[index - 1].kind != "action":
                return Reading(problem="no_action")
            case "action":
                given = parts[index + 1] if index + 1 < len(parts) and parts[index + 1].kind == "input" else None
                reading = _acted(text, part, given, schemas, cut_off)
                if reading:
                    return reading
            case "observation" if index or thoughts[0].strip():  # else the model repeats what it was told
                break
    return Reading(problem="no_step")


def said(text: str) -> str:
    """Without what a reasoning model thought first; some servers send the end of it alone, its beginning being theirs."""
    thought, tag, said = text.partition("</think>")
    return said if tag and ("<think>" in thought[:100] or said.startswith("\n")) else text


def _parts(text: str) -> list[_Part]:
    found = [(str(m.lastgroup), m.start(), m.end()) for m in LABEL.finditer(text)]
    if any(kind.endswith("action") for kind, _, _ in found):  # a thought may speak of the answer to come
        found = [each for each in found if each[0] != "inner_final"]
    follows = False
    for each in list(found):
        follows = each[0] in ("action", "input", "inner_input") or (follows and each[0] == "other")
        if each[0] == "other" and not follows:
            found.remove(each)
    ends = [*(begin for _, begin, _ in found), len(text)][1:]
    return [
        _Part(kind.removeprefix("inner_"), begin, start, end)
        for (kind, begin, start), end in zip(found, ends, strict=True)
    ]


def _answered(text: str, *, is_whole: bool) -> Reading:
    answer = text.strip()
    answer = answer.removesuffix("**").rstrip() if answer.count("**") % 2 else answer  # **Final Answer: 42**
    return Reading(answer=answer, problem="" if answer else "no_answer", is_whole=is_whole)


def _acted(
    text: str, action: _Part, part: _Part | None, schemas: Mapping[str, Schema], cut_off: bool
) -> Reading | None:
    """The tool use or answer of an Action and the Action Input behind it; None where it says that there is none."""
    line, _, below = text[action.start : action.end].strip().partition("\n")
    name = line[:_LONGEST_LINE].strip(_AROUND_NAMES)
    name = next((each for each in schemas if each.casefold() == name.casefold()), name)
    given = text[part.start : part.end].strip() if part else ""
    if name not in schemas:
        final = FINAL_NAME.match(line)
        if final:
            answer = _only_text(f"{line[final.end() :]}\n{below}".strip() or given)
            return _answered(answer, is_whole=False) if answer else None
        if not name or NO_ACTION.fullmatch(name):
            return None
    schema = schemas.get(name, {})
    ends_early = (part or action).end < len(text)
    if not given or _NO_INPUT.fullmatch(given):
        if name in schemas and not schema.get("properties"):
            return Reading(name=name, input={}, is_whole=ends_early)
        return Reading(problem="no_object" if given else "no_input", is_whole=ends_early)
    # JSON ends where it ends: a label within one of its strings is none
    found = _object(text[part.start :], given) if part else None
    if found is not None:
        return Reading(name=name, input=found, is_whole=True)
    only = bare(given, schema) if ends_early or not cut_off else None
    return (
        Reading(name=name, input=only, is_whole=ends_early)
        if only
        else Reading(problem="no_object", is_whole=ends_early)
    )


def _object(rest: str, given: str) -> dict[str, Any] | None:
    """The object that `rest` begins with, or the one in `given`, its part up to the next label, in Python's writing."""
    opened = given[:40].find("{")
    if opened < 0 or not re.fullmatch(r"[`\s]*(?:json|python)?\s*", given[:opened], re.IGNORECASE):
        return None
    value = first_value(rest[rest.find("{") :], given[opened:])
    return value if isinstance(value, dict) else None


def first_value(text: str, part: str | None = None) -> Any:
    """The JSON value that the text begins with, whatever follows, or that its `part` does in Python's writing; None without."""
    for each, make in ((text, str), (text if part is None else part, _as_json)):
        with suppress(ValueError, RecursionError):
            return _DECODER.raw_decode(make(each))[0]
    return None


def _as_json(text: str) -> str:
    def rewritten(found: re.Match[str]) -> str:
        token = found[0]
        if not token.startswith("'"):
            return _AS_JSON.get(token, token)
        inner = re.sub(
            r"""\\'|\\.|\"""", lambda f: {"\\'": "'", '"': '\\"'}.get(f[0], f[0]), token[1:-1], flags=re.DOTALL
        )
        return f'"{inner}"'

    return _PYTHONIC.sub(rewritten, text)


def bare(given: str, schema: Schema) -> dict[str, Any] | None:
    """A text instead of an object, for a tool that needs one text and nothing else; None where it can't be taken so."""
    required = schema.get("required", [])
    asked = schema.get("properties", {}).get(required[0]) if len(required) == 1 else None
    if not isinstance(asked, dict) or asked.get("type") != "string":
        return None
    fenced = _FENCED.match(given)
    text = (fenced[1] if fenced else given).strip().strip("`").strip()
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        value = text[1:-1] if text[:1] == text[-1:] == "'" else text
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = text  # a number that is an id
    if not isinstance(value, str) or not value.strip() or value.lstrip().startswith(("{", "[")):
        return None
    return {required[0]: value}


def _only_text(given: str) -> str:
    """The text of an answer that was given as the input of an action: bare, or the one value of an object."""
    values = list((_object(given, given) or {}).values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    text = bare(given, {"required": ["answer"], "properties": {"answer": {"type": "string"}}})
    return str(text["answer"]) if text else given.strip()
