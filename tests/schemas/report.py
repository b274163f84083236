"""What becomes of tool schemas and of inputs for them: taken, told in a form that providers take, judged as jsonschema does."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from agent.messages import user_text
from agent.ports import ModelRequest
from agent.tooling.schemas import WrongArgumentsError
from agent.tooling.tool import Tool, tool_from_schema
from local.bedrock.rules import violations
from tests.fakes import FAMILIES, wire_body
from tests.schemas.inputs import Maker

_SHOWN = 10
_JUDGE: Any = import_module("jsonschema").Draft202012Validator  # which has no types


@dataclass
class Report:
    """Counts, and of each kind of failure the first ones."""

    schemas: int = 0
    taken: int = 0
    told_well: int = 0
    valid: int = 0
    invalid: int = 0
    refused: list[str] = field(default_factory=list)
    told_badly: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    run: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether all bounds are kept."""
        return self.taken >= 0.98 * self.schemas and not (self.told_badly or self.changed or self.run)

    def lines(self) -> list[str]:
        """The report for a person."""
        return [
            f"{self.schemas} schemas: {_percent(self.taken, self.schemas)} taken",
            *_first(self.refused),
            f"{_percent(self.told_well, self.taken)} of them told as every family takes it",
            *_first(self.told_badly),
            f"{self.valid} valid inputs: {len(self.changed)} changed or refused",
            *_first(self.changed),
            f"{self.invalid} invalid inputs: {len(self.run)} run",
            *_first(self.run),
        ]


def report_on(entries: Sequence[dict[str, Any]], inputs: int, seed: int) -> Report:
    """Offers each schema, and calls its tool with inputs made for it."""
    report = Report()
    for number, entry in enumerate(entries):
        report.schemas += 1
        name = str(entry["tool"])
        try:
            tool: Tool[..., Any] = tool_from_schema(name, entry.get("description", ""), entry["schema"], _given)
        except (TypeError, ValueError) as error:
            report.refused.append(str(error))
            continue
        report.taken += 1
        broken = _broken_rules(tool)
        report.told_well += not broken
        report.told_badly += [f"{name}: {each}" for each in broken]
        judge = _JUDGE(entry["schema"])
        for value in Maker(entry["schema"], seed + number).inputs(inputs):
            _call(report, tool, value, judge.is_valid(value))
    return report


def _given(**arguments: Any) -> dict[str, Any]:
    return arguments


def _call(report: Report, tool: Tool[..., Any], value: dict[str, Any], valid: bool) -> None:
    report.valid += valid
    report.invalid += not valid
    told = f"{tool.name}: {repr(value)[:500]}"
    try:
        got = tool.bind(copy.deepcopy(value), None)()  # type: ignore[arg-type]  # no parameter wants the context
    except WrongArgumentsError as error:
        if valid:
            report.changed.append(f"{told}: {error.message}")
        elif len(error.message) > 2_000 or not error.message.startswith("$"):
            report.changed.append(f"{told}: refused without its place or at length: {error.message}")
    else:
        if not valid:
            report.run.append(told)
        elif repr(got) != repr(value):  # 5 and 5.0 are equal, and not the same
            report.changed.append(f"{told}: {got!r}")


def _broken_rules(tool: Tool[..., Any]) -> list[str]:
    request = ModelRequest("", [user_text("q")], [tool.spec])
    found = {each: violations(each, wire_body(request, each)) for each in FAMILIES}
    return [f"{each}: {rule.rule} {rule.message}" for each, rules in found.items() for rule in rules]


def _percent(part: int, whole: int) -> str:
    return f"{part} ({100 * part / max(whole, 1):.1f} %)"


def _first(failures: Sequence[str]) -> list[str]:
    more = [f"  and {len(failures) - _SHOWN} more"] if len(failures) > _SHOWN else []
    return [f"  {each}" for each in failures[:_SHOWN]] + more
