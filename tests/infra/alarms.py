"""Alarms of a template: what each looks at, and whether it rings where its metrics have certain values."""

import ast
from collections.abc import Mapping
from operator import add, ge, mul, sub, truediv
from typing import Any

from tests.infra import journal
from tests.infra.synthesis import Synthesis


def alarms(stack: Synthesis) -> list[dict[str, Any]]:
    return list(stack.resources("CloudWatch::Alarm").values())


def watched(metric: dict[str, Any]) -> journal.Metric:
    pairs = [(item["Name"], item["Value"]) for item in metric.get("Dimensions", [])]
    # AWS's own have tokens as values, which name a resource of the stack.
    return metric["Namespace"], metric["MetricName"], frozenset(pair for pair in pairs if isinstance(pair[1], str))


def metrics_of(alarm: dict[str, Any]) -> dict[str, journal.Metric]:
    """The metrics that an alarm looks at, by their names in its formula."""
    parts = {part["Id"]: part["MetricStat"]["Metric"] for part in alarm.get("Metrics", []) if "MetricStat" in part}
    return {name: watched(metric) for name, metric in (parts or {"alone": alarm}).items()}


def names_of(alarm: dict[str, Any]) -> set[tuple[str, str]]:
    return {(namespace, name) for namespace, name, _ in metrics_of(alarm).values()}


def value_of(formula: ast.expr, values: Mapping[str, float]) -> float | None:
    """What a metric math expression comes to in a period; None where a metric has no value in it."""
    match formula:
        case ast.Name(id=name):
            return values.get(name)
        case ast.Constant(value=int(number)):
            return number
        case ast.Call(func=ast.Name(id="SUM"), args=[ast.List(elts=parts)]):
            present = [value for value in (value_of(part, values) for part in parts) if value is not None]
            return sum(present) if present else None
        case ast.Call(func=ast.Name(id="IF"), args=[condition, then, otherwise]):
            holds = value_of(condition, values)
            return None if holds is None else value_of(then if holds else otherwise, values)
        case ast.BinOp(left=left, op=operator) | ast.Compare(left=left, ops=[operator]):
            right = formula.right if isinstance(formula, ast.BinOp) else formula.comparators[0]
            first, second = value_of(left, values), value_of(right, values)
            known = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv, ast.GtE: ge}
            return None if first is None or second is None else float(known[type(operator)](first, second))
    raise AssertionError(ast.dump(formula))


def rings(alarm: dict[str, Any], seen: Mapping[journal.Metric, float]) -> bool:
    """Whether the alarm goes off where a period's metrics have these values."""
    values: dict[str, float] = {name: seen[key] for name, key in metrics_of(alarm).items() if key in seen}
    formulas = {part["Id"]: part for part in alarm.get("Metrics", []) if "Expression" in part}
    # Those that others are made of are not returned, and come last.
    for part in sorted(formulas.values(), key=lambda part: part.get("ReturnData", True)):
        value = value_of(ast.parse(part["Expression"], mode="eval").body, values)
        if value is not None:
            values[part["Id"]] = value
    returned = next((name for name, part in formulas.items() if part.get("ReturnData", True)), "alone")
    return returned in values and values[returned] >= alarm["Threshold"]
