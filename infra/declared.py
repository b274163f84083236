"""What the offered tool modules declare in the .toml beside them, checked before anything is deployed.

[environment]
ORDERS_TABLE = "orders"
[secrets]
ORDERS_KEY = "orders/key"
[[permissions]]
actions = ["dynamodb:GetItem"]
resources = ["arn:{partition}:dynamodb:{region}:{account}:table/orders"]
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra import values
from infra.permissions import Place, Statement, secret_statements

# Lambda's own ("Defined runtime environment variables" in its Developer Guide) and Powertools'.
RESERVED = re.compile(r"(AWS_|POWERTOOLS_).*|LAMBDA_TASK_ROOT|LAMBDA_RUNTIME_DIR")
VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
ACTION = re.compile(r"[a-z0-9-]+:[A-Za-z0-9*?]+")
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
PARTS = ("partition", "region", "account")
WILDCARD = re.compile(r"[*?]")


class DeclaredError(ValueError):
    """A .toml that can't be deployed: one sentence with the file and what is wrong."""


@dataclass(frozen=True)
class Permission:
    """One thing that a tool may do. `reason` says why a wildcard is needed, where there is one."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    reason: str = ""

    def arns(self, place: Place) -> list[str]:
        """The resources in this place."""
        return [PLACEHOLDER.sub(lambda found: str(getattr(place, found[1])), each) for each in self.resources]


@dataclass(frozen=True)
class Declared:
    """What one module declares. `secrets`: the name by which the tool reads one -> its name or ARN in Secrets Manager."""

    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    permissions: tuple[Permission, ...] = ()

    def statements(self, place: Place) -> list[Statement]:
        """The IAM statements for its permissions and secrets."""
        own = [
            {"Effect": "Allow", "Action": list(each.actions), "Resource": each.arns(place)} for each in self.permissions
        ]
        return own + [statement for name in self.secrets.values() for statement in secret_statements(name, place)]

    def wildcards(self, place: Place) -> dict[str, str]:
        """Each wildcard of its permissions, as cdk-nag names what it finds -> the reason for it."""
        return {
            f"{kind}::{text}": each.reason
            for each in self.permissions
            for kind, texts in (("Action", each.actions), ("Resource", each.arns(place)))
            for text in texts
            if WILDCARD.search(text)
        }


def declared(modules: Iterable[Path], settings: Iterable[str]) -> dict[str, Declared]:
    """By the name of each module with a .toml beside it, what it declares; `settings` are the function's own variables.

    Raises DeclaredError.
    """
    ours, taken = frozenset(settings), dict[str, tuple[str, Path]]()
    found: dict[str, Declared] = {}
    for file in (module.with_suffix(".toml") for module in modules):
        if not file.is_file():
            continue
        found[file.stem] = each = _read(file)
        for name, value in (*each.environment.items(), *each.secrets.items()):
            if name in ours or RESERVED.fullmatch(name):
                raise _wrong(file, f"{name} is a variable of the function's own: choose another name")
            other, where = taken.setdefault(name, (value, file))
            if other != value:
                raise _wrong(file, f"{name} is {value!r}, but {other!r} in {_told(where)}: one name has one value")
    return found


def _read(file: Path) -> Declared:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(file, f"it can't be read: {error}") from error
    _refuse_others(file, content, "table", ("environment", "secrets", "permissions"))
    environment = _variables(file, content, "environment")
    secrets = _variables(file, content, "secrets")
    for name, secret in secrets.items():
        try:
            values.SECRET.parse(secret)
        except ValueError:
            raise _wrong(file, f"{name} is {secret!r}, but must be {values.SECRET.allowed}") from None
        if name in environment:
            raise _wrong(file, f"{name} is a variable and a secret: one name has one value")
    permissions = content.get("permissions", [])
    if not isinstance(permissions, list) or not all(isinstance(each, dict) for each in permissions):
        raise _wrong(file, "permissions must be tables: [[permissions]]")
    return Declared(environment, secrets, tuple(_permission(file, each) for each in permissions))


def _variables(file: Path, content: dict[str, Any], table: str) -> dict[str, str]:
    variables = content.get(table, {})
    if not isinstance(variables, dict):
        raise _wrong(file, f"{table} must be a table: [{table}]")
    for name, value in variables.items():
        if not VARIABLE.fullmatch(name):
            raise _wrong(file, f"{name!r} can't be a variable: it takes letters, digits and _, a letter first")
        if not isinstance(value, str) or not value.strip():
            raise _wrong(file, f"{name} is {value!r}, but must be a text in quotes that is not blank")
    return variables


def _permission(file: Path, table: dict[str, Any]) -> Permission:
    _refuse_others(file, table, "key of [[permissions]]", ("actions", "resources", "reason"))
    reason = table.get("reason", "")
    if not isinstance(reason, str):
        raise _wrong(file, f"reason is {reason!r}, but must be a text")
    each = Permission(
        _texts(file, table, "actions", ACTION.fullmatch, 'as in ["dynamodb:GetItem"]'),
        _texts(
            file,
            table,
            "resources",
            _is_resource,
            f"ARNs, with {', '.join(f'{{{part}}}' for part in PARTS)} where needed",
        ),
        reason.strip(),
    )
    wild = [text for text in (*each.actions, *each.resources) if WILDCARD.search(text)]
    if wild and not each.reason:
        raise _wrong(file, f"{wild[0]} has a wildcard: reason must say why it is needed")
    return each


def _texts(file: Path, table: dict[str, Any], key: str, fits: Callable[[str], object], example: str) -> tuple[str, ...]:
    value = table.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(each, str) and fits(each) for each in value):
        raise _wrong(file, f"{key} is {value!r}, but must be a list of texts, {example}")
    return tuple(value)


def _is_resource(text: str) -> bool:
    return (text == "*" or text.startswith("arn:")) and all(part in PARTS for part in PLACEHOLDER.findall(text))


def _refuse_others(file: Path, content: dict[str, Any], kind: str, known: tuple[str, ...]) -> None:
    for name in content:
        if name not in known:
            raise _wrong(file, f"{name} is no {kind}: there are {', '.join(known)}")


def _wrong(file: Path, told: str) -> DeclaredError:
    return DeclaredError(f"{_told(file)}: {told}")


def _told(file: Path) -> str:
    return "/".join(file.parts[-3:])
