"""Tools made from a JSON schema: judged by the schema itself, called with what came, a wrong input told by place and reason."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import pytest

from agent.tooling.schemas import WrongArgumentsError
from agent.tooling.tool import Tool, ToolContext, tool_from_schema
from tests.agent.tooling.test_told_schemas import made, of
from tests.agent.turn.turns import run_tools, text_of
from tests.fakes import use
from tests.schemas.report import report_on

_INTEGERS = of(
    {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}
)
_CHOICE = of({"type": ["string", "null"], "enum": ["c", "f", None]}, required=["a"])


def called(schema: Any, value: dict[str, Any]) -> Any:
    """What the function got."""
    return made(schema).bind(value, None)()  # type: ignore[arg-type]


def refusal(schema: Any, value: dict[str, Any]) -> str:
    """Why the function was not called."""
    with pytest.raises(WrongArgumentsError) as raised:
        made(schema).bind(value, None)  # type: ignore[arg-type]
    return raised.value.message


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (of({"type": "number"}), {"a": 50}),
        (of({"type": "number"}), {"a": 9007199254740993}),
        (of({"type": "integer"}), {"a": 5.0}),
        (of({"type": "integer"}), {"a": 10**21 + 1}),
        (of({"type": "integer"}), {}),
        (_CHOICE, {"a": None}),
        (_CHOICE, {"a": "c"}),
        (_INTEGERS, {"a": [{"n": 1.0, "more": [None, True]}]}),
        (of({"anyOf": [{"const": "a"}, {"const": "b"}]}), {"a": "b"}),
        (of({"allOf": [{"type": "string"}, {"enum": ["true", "false"]}]}), {"a": "true"}),
        (of({"type": ["integer", "number"]}), {"a": 1.5}),
        (of({"type": ["string", "string"]}), {"a": "x"}),
        (of({"type": "string", "format": "date"}), {"a": "tomorrow"}),
        (of({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}}), {"a": {"x-1": 2, "y": "z"}}),
        (of({"type": "object", "additionalProperties": {"type": "integer"}}), {"a": {"b": 2}}),
        (of({}), {"a": {"$ref": "x"}, "self": 1, "class": 2}),
        ({}, {"anything": [1]}),
    ],
)
def test_a_valid_input_arrives_exactly_as_it_came(schema: Any, value: dict[str, Any]) -> None:
    assert repr(called(schema, value)) == repr(value)


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        (_INTEGERS, {"a": [{}]}, "$.a[0]: 'n' is a required property"),
        (_INTEGERS, {"a": [{"n": 1}, {"n": "2"}]}, '$.a[1].n must fit {"type": "integer"}'),
        (_CHOICE, {"a": "zzz"}, '$.a must fit {"enum": ["c", "f", null]}'),
        (_CHOICE, {}, "$: 'a' is a required property"),
        (of({"type": "integer", "maximum": 3}), {"a": 5}, '$.a must fit {"maximum": 3}'),
        (of({"type": "integer"}), {"a": True}, '$.a must fit {"type": "integer"}'),
        (of({"type": "integer"}), {"a": 5.5}, '$.a must fit {"type": "integer"}'),
        (of({"type": "string", "pattern": "^x$"}), {"a": "y" * 9_999}, '$.a must fit {"pattern": "^x$"}'),
        (
            of({"type": "integer"}, additionalProperties=False),
            {"b": 1},
            "$: Additional properties are not allowed ('b' was unexpected) (known: a)",
        ),
        (of({"additionalProperties": {"type": "integer"}}), {"a": {"b": "c"}}, '$.a.b must fit {"type": "integer"}'),
        (
            of({"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": False}),
            {"a": {"y": 1}},
            "$.a: Additional",
        ),
        (of({"patternProperties": {"^x": {"type": "null"}}}), {"a": {"xy": 1}}, '$.a.xy must fit {"type": "null"}'),
        (of({"propertyNames": {"pattern": "^[a-z]+$"}}), {"a": {"B": 1}}, '$.a must fit {"pattern": "^[a-z]+$"}'),
        (
            of({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            {"a": 5},
            '$.a must fit {"anyOf": [{"type": "string"}, {"type": "null"}]}',
        ),
        (
            of({"anyOf": [_INTEGERS, {"type": "null"}]}),
            {"a": {"a": [{"n": "x"}]}},
            '$.a.a[0].n must fit {"type": "integer"}',
        ),
    ],
)
def test_an_invalid_input_is_refused_with_the_place_and_what_is_allowed(
    schema: Any, value: dict[str, Any], told: str
) -> None:
    assert refusal(schema, value).startswith(told)


def test_a_refusal_is_short_whatever_was_sent_and_wanted() -> None:
    schema = of({"type": "array", "items": {"enum": [f"value {n}" for n in range(5_000)]}})
    assert len(refusal(schema, {"a": ["x" * 10_000] * 1_000})) < 1_200
    assert len(refusal({**schema, "required": ["n" * 2_000]}, {})) < 1_200


def test_each_refused_call_is_told_to_the_model_and_counts_as_not_run() -> None:
    good, wrong = run_tools([made(_INTEGERS)], use("t1", "x", {"a": [{"n": 1}]}), use("t2", "x", {"a": [{}]}))
    assert (good.status, wrong.status, wrong.error) == ("success", "error", "refused")
    assert "x was not run, its arguments are wrong: $.a[0]: 'n' is a required property (known: n)." in text_of(wrong)


def test_a_form_that_holds_itself_is_judged_at_every_depth() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "additionalProperties": False}
    schema = {**of({"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}
    value: dict[str, Any] = {}
    for _ in range(35):
        value = {"next": value}
    assert called(schema, {"a": value}) == {"a": value}
    assert ".next.next: Additional" in refusal(schema, {"a": {"next": {"next": {"other": 1}}}})


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "^(a|aa)+$", "(.*)*x$"])
@pytest.mark.parametrize("as_name", [False, True], ids=["value", "name"])
def test_no_pattern_can_hold_the_function_up(pattern: str, as_name: bool) -> None:
    text = "a" * 100_000 + "!"
    inner = (
        {"type": "object", "patternProperties": {pattern: False}} if as_name else {"type": "string", "pattern": pattern}
    )
    tool = made(of({**inner, "$schema": "http://json-schema.org/draft-07/schema#"}))
    began = time.perf_counter()
    value: Any = {text: 1} if as_name else text
    with suppress(WrongArgumentsError):
        tool.bind({"a": value}, None)  # type: ignore[arg-type]
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize("pattern", ["^(?!x)", "(?<=a)b", r"(a)\1", "a++", "("])
@pytest.mark.parametrize(
    "make", [lambda p: {"pattern": p}, lambda p: {"patternProperties": {p: {}}}], ids=["value", "name"]
)
def test_a_pattern_that_can_not_run_in_linear_time_is_refused_at_load(pattern: str, make: Any) -> None:
    with pytest.raises(TypeError, match=r"tool x: its pattern .* is none that RE2 takes"):
        made({**of({"$ref": "#/$defs/p"}), "$defs": {"p": make(pattern)}})


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (r"^\d+$", ["12", "٣", "12\n"], ["", "a", "12\n\n"]),
        (r"^\w+$", ["ab_1", "é東京"], ["a b", "-"]),
        (r"^[\w-]+$", ["é-1"], ["é 1"]),
        (r"^[^\s@]+@[^\s@]+$", ["a@b", "é@東"], ["a @b", "a\u3000@b", "a@"]),
        (r"^\S+$", ["é"], ["a\u00a0b"]),
        (r"\D", ["1a"], ["1٣"]),
        (r"^\W$", ["-"], ["é"]),
        (r"^[\u4e00-\u9fa5]+$", ["東京"], ["tokyo"]),
        (r"^[]\]$]+$", ["]$"], ["a"]),
        (r"^a\$$", ["a$"], ["a"]),
        (r"a\Z", ["a"], ["a\n"]),
        (r"^[a[]$", ["["], ["b"]),
        ("^$", [""], ["a"]),
    ],
)
def test_a_pattern_means_what_it_means_to_jsonschema(pattern: str, right: list[str], wrong: list[str]) -> None:
    for text in right:
        assert called(of({"pattern": pattern}), {"a": text}) == {"a": text}
    for text in wrong:
        assert "pattern" in refusal(of({"pattern": pattern}), {"a": text})


def test_a_function_that_knows_less_than_its_schema_is_not_called_with_more() -> None:
    def known(a: int, context: Annotated[ToolContext, "the turn"]) -> str:
        return f"{a} {context.session_id}"

    tool: Tool[..., str] = tool_from_schema("x", "x", of({"type": "integer"}), known)
    good, missing, more = run_tools(
        [tool], *(use(f"t{n}", "x", g) for n, g in enumerate([{"a": 1}, {}, {"a": 1, "b": 2}]))
    )
    assert text_of(good) == "[{'text': '1 s'}]"
    assert (missing.error, more.error) == ("refused", "refused")
    assert "missing a required argument: 'a'" in text_of(missing)
    assert "unexpected keyword argument 'b'" in text_of(more)


def test_a_function_that_can_not_be_called_as_it_says_is_refused() -> None:
    def unknown(context: "Nowhere", **given: Any) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Wants what isn't there."""

    for function in (unknown, None, "text"):
        with pytest.raises(TypeError, match="tool x: "):
            tool_from_schema("x", "x", of({}), function)  # type: ignore[arg-type]


def test_a_property_can_not_stand_in_for_the_context() -> None:
    def known(a: "ToolContext") -> str:
        return str(a)

    with pytest.raises(TypeError, match="tool x: its schema has a property a, which is the parameter for the context"):
        tool_from_schema("x", "x", of({}), known)


def test_an_approval_is_asked_for_what_can_run_alone() -> None:
    tool = tool_from_schema("x", "x", of({"type": "integer"}), lambda **given: given, needs_approval=lambda a: a > 5)
    assert (tool.side_effects, tool.waits({"a": 6}), tool.waits({"a": 5.0}), tool.waits({"a": "6"})) == (
        True,
        True,
        False,
        False,
    )


@pytest.mark.parametrize("package", ["jsonschema", "re2"])
def test_without_its_packages_a_schema_is_refused_with_what_to_do(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TypeError, match=r"tool x: .*the \.in of its module has to name jsonschema and google-re2"):
        tool_from_schema("x", "x", of({}), str)


def test_nothing_of_it_is_imported_where_no_tool_has_a_schema() -> None:
    code = "import sys, handler, agent.tooling.foreign\nprint(*{'jsonschema', 're2', 'rpds'} & sys.modules.keys())"
    folder = Path(__file__).parents[3] / "lambda"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.splitlines()[-1] == ""


def test_schemas_as_servers_publish_them_are_taken_and_kept() -> None:
    entries = json.loads((Path(__file__).parents[2] / "schemas" / "published.json").read_text(encoding="utf-8"))
    report = report_on(entries, inputs=40, seed=1)
    assert report.holds, "\n".join(report.lines())
    assert report.valid > 10 * report.taken
    assert report.invalid > 10 * report.taken
