"""What the function's journal writes, read from its source: names of metrics, and fields of its lines."""

import ast

from infra.bundling import SOURCE

_TREE = ast.parse((SOURCE / "agent" / "adapters" / "journal.py").read_text())


def metrics() -> set[str]:
    """Names of the metrics: the keywords of the calls that emit them."""
    calls = [node for node in ast.walk(_TREE) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    emitting = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "_emit"]
    return {keyword.arg for call in emitting for keyword in call.keywords if keyword.arg}


def line(method: str) -> set[str]:
    """Fields of the line that a method writes: the keys of its dictionaries."""
    [function] = [node for node in ast.walk(_TREE) if isinstance(node, ast.FunctionDef) and node.name == method]
    keys = [key for node in ast.walk(function) if isinstance(node, ast.Dict) for key in node.keys]
    return {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
