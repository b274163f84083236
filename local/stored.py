"""The commands `replay` and `export`: stored turns, from the file that the other commands keep or from the real table."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from local.function import OWN, importable
from local.problem import ProblemError
from local.screen import Screen
from local.session_table import Item, stored_items
from local.stack import Choices, local_stack, process_environment

if TYPE_CHECKING:
    from local.recordings import Recording

_NO_CALLER = "anonymous#"  # stands before the id of a session that came over HTTP without an authorizer


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
        from agent.errors import MisconfiguredError
        from agent.settings import Settings
        from agent.tooling.offered import load_tools
        from local.replay import replay
        from local.replay_report import as_json, show

        try:
            settings = Settings.from_environment(os.environ)
            tools = load_tools(settings.tools, OWN)
        except MisconfiguredError as error:
            raise ProblemError(error.detail or error.message) from error
        replayed = [replay(each, tools, settings, run_side_effects=run_side_effects) for each in found]
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
    with _items(source) as items, importable():
        from local.recordings import recordings

        if not items:
            place = f"the table {source.table}" if source.table else f"{source.keep}"
            raise ProblemError(f"Nothing is kept of the session {source.session} in {place}.")
        found = recordings(items)
        chosen = [each for each in found if source.turn in (None, each.turn)]
        if not chosen:
            turns = ", ".join(str(each.turn) for each in found) or "none"
            raise ProblemError(f"There is no such turn to run again; of this session these are: {turns}.")
        yield chosen


@contextmanager
def _items(source: Source) -> Iterator[list[Item]]:
    if source.table is None:
        with local_stack(Choices(settings=source.settings, keep=source.keep)) as stack:
            yield stack.sessions.items(source.session) or stack.sessions.items(_NO_CALLER + source.session)
        return
    environment = {"MODEL_ID": "recorded", **os.environ, "TABLE_NAME": source.table, **source.settings}
    with process_environment(environment):
        try:
            client = boto3.client("dynamodb")
            items = stored_items(client, source.table, source.session)
            items = items or stored_items(client, source.table, _NO_CALLER + source.session)
        except (ClientError, BotoCoreError) as error:
            raise ProblemError(f"The table {source.table} can't be read: {error}") from error
        yield items
