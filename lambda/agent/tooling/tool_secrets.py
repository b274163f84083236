"""The secrets that tools may read: each those of its own module, by the names that the module's .toml gives them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from agent.deadline import Deadline
from agent.errors import AgentError, MisconfiguredError, ToolError
from agent.ports import SecretStore
from agent.tooling.offered import offered


class _Declared(msgspec.Struct, frozen=True):
    secrets: dict[str, str] = {}


def declared_secrets(chosen: Sequence[str], own: Path) -> dict[str, dict[str, str]]:
    """By module, its secrets: name -> name or ARN in the store. From the bundle's file, or from the .toml that make it.

    Raises MisconfiguredError.
    """
    bundled = own.parent / "tools.json"
    if bundled.is_file():
        content = msgspec.json.decode(bundled.read_bytes(), type=dict[str, _Declared])
        return {module: each.secrets for module, each in content.items()}
    files = [module.with_suffix(".toml") for module in offered(chosen, own)]
    return {file.stem: _of_toml(file) for file in files if file.is_file()}


def _of_toml(file: Path) -> dict[str, str]:
    try:
        return msgspec.toml.decode(file.read_bytes(), type=_Declared).secrets
    except ValueError as error:
        raise MisconfiguredError(detail=f"{'/'.join(file.parts[-3:])} can't be read: {error}.") from error


class Vault:
    """Who may read what. `environment` comes before the store, for a laptop; `warn` is told why a secret can't be read."""

    def __init__(
        self,
        declared: Mapping[str, Mapping[str, str]],
        environment: Mapping[str, str],
        store: SecretStore,
        warn: Callable[..., None],
    ) -> None:
        self._declared, self._environment, self._store, self._warn = declared, environment, store, warn

    def of(self, module: str, deadline: Deadline) -> Mapping[str, str]:
        """The secrets of a module, each read at its first use and before the deadline; ToolError where one can't be."""
        return _Secrets(self._declared.get(module, {}), lambda name, key: self._read(name, key, deadline))

    def _read(self, name: str, key: str, deadline: Deadline) -> str:
        if self._environment.get(name):
            return self._environment[name]
        try:
            return self._store.read(key, deadline)
        except AgentError as error:
            self._warn("a secret can't be read", secret=name, reason=error.detail or error.message)
            raise ToolError("A secret that this tool needs can't be read.") from error


class _Secrets(Mapping[str, str]):
    def __init__(self, keys: Mapping[str, str], read: Callable[[str, str], str]) -> None:
        self._keys, self._read = keys, read

    def __getitem__(self, name: str) -> str:
        return self._read(name, self._keys[name])

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"secrets of these names: {', '.join(self._keys) or 'none'}"
