"""The commands `replay` and `export`: stored turns, from the file that the other commands keep or from the real table."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from local.environment import process_environment
from local.function import LAMBDA, OWN, importable
from local.kept import items_in_file, items_in_table
from local.problem import ProblemError
from local.screen import Screen
from local.session_table import Item
from local.settings import start_from
from local.stack import Choices, local_stack

if TYPE_CHECKING:
    from local.recordings import Recording


@dataclass(frozen=True)
class Source:
    """Which turns: one of a session or all of them, kept in a file, or in the real table where that is named.

    `settings` are environment variables of the function.
    """

    session: str
    turn: int | None
    keep: Path
    table: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def replay_stored(
    source: Source, screen: Screen, *, run_side_effects: bool, say_json: Callable[[str], None] | None
) -> int:
    """Run turns again and show what differs, or say it as JSON. Returns 1 where something differs, else 0."""
    with _recordings(source) as found:
        from agent.adapters.secrets import SecretsManager
        from agent.aws.client import AWS
        from agent.errors import MisconfiguredError
        from agent.settings import Settings
        from agent.tooling.offered import load_tools
        from agent.tooling.tool_secrets import Vault, declared_secrets
        from local.replay import replay
        from local.replay_report import as_json, show

        try:
            settings = Settings.from_environment(os.environ)
            tools = load_tools(settings.tools, OWN)
            store = SecretsManager(AWS(os.environ).client("secretsmanager"))
            vault = Vault(declared_secrets(settings.tools, OWN), os.environ, store, lambda message, **fields: None)
        except MisconfiguredError as error:
            raise ProblemError(error.detail or error.message) from error
        replayed = [
            replay(each, tools, settings, run_side_effects=run_side_effects, secrets_of=vault.of) for each in found
        ]
    if say_json:
        say_json(json.dumps([as_json(each) for each in replayed], ensure_ascii=False, indent=2))
    else:
        show(screen, replayed)
    return int(any(each.differs for each in replayed))


def export_stored(source: Source, details: Screen, say: Callable[[str], None]) -> int:
    """Say the script of the turns; `details` gets the questions to play it with. Returns the exit code."""
    with _recordings(source) as found:
        from local.export import script

        say(json.dumps(script(found), ensure_ascii=False, indent=2))
    details.line("Ask the same with --script FILE:", "dim")
    for each in found:
        details.labelled(f"turn {each.turn}", each.question)
    return 0


@contextmanager
def _recordings(source: Source) -> Iterator[list["Recording"]]:
    """The turns, in an environment in which their tools can run. Raises ProblemError where there are none."""
    with _environment(source), importable():
        from local.recordings import recordings

        found = recordings(_items(source))
        chosen = [each for each in found if source.turn in (None, each.turn)]
        if not chosen:
            turns = ", ".join(str(each.turn) for each in found) or "none"
            raise ProblemError(f"There is no such turn to run again; of this session these are: {turns}.")
        yield chosen


def _items(source: Source) -> list[Item]:
    if source.table:
        return items_in_table(source.table, source.session)
    first, *others = items_in_file(source.keep, source.session)
    keys = [items[0]["session_id"]["S"] for items in (first, *others)]
    if others and keys[0] != source.session:
        raise ProblemError(f"Several callers have a session {source.session}: name one of {', '.join(keys)}.")
    return first


@contextmanager
def _environment(source: Source) -> Iterator[None]:
    if source.table is None:
        with local_stack(Choices(settings=source.settings, keep=source.keep, read_only=True)):
            yield
        return
    start = start_from(source.settings, LAMBDA)
    recorded = {"MODEL_ID": "recorded", "TABLE_NAME": source.table}
    with process_environment({**start.environment(None, os.environ), **recorded, **start.given}):
        yield
