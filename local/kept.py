"""Kept sessions: whose they are, in the file of --keep or in the real table, and what a person sees of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from local.function import importable
from local.problem import ProblemError
from local.screen import Screen
from local.session_table import Item, Row, read_kept, row_of, stored_items
from local.terminal import exact_json

_NO_CALLER = "anonymous#"  # stands before the id of a session that came over HTTP without an authorizer
_LISTED = 10  # sessions that a refusal names


def items_in_file(path: Path, session: str) -> list[list[Item]]:
    """The turns of each session of that id, direct or of any caller, or of that key. Raises ProblemError where there is none."""
    kept = _by_session(read_kept(path))
    found = [items for key, items in kept.items() if session in (key, key.partition("#")[2])]
    if not found:
        told = ", ".join(list(kept)[:_LISTED]) or "nothing"
        more = f" and {len(kept) - _LISTED} more" if len(kept) > _LISTED else ""
        raise ProblemError(f"Nothing is kept of the session {session} in {path}. Kept is: {told}{more}.")
    return sorted(found, key=lambda items: "#" in items[0]["session_id"]["S"])


def items_in_table(table: str, session: str) -> list[Item]:
    """The turns of one session of the real table, read with the environment's credentials. Raises ProblemError."""
    try:
        client: Any = boto3.client("dynamodb")
        items = stored_items(client, table, session) or stored_items(client, table, _NO_CALLER + session)
    except (ClientError, BotoCoreError) as error:
        raise ProblemError(f"The table {table} can't be read: {error}") from error
    if not items:
        raise ProblemError(
            f"Nothing is kept of the session {session} in the table {table}. That of a caller is named <hash>#{session}."
        )
    return items


def list_sessions(screen: Screen, path: Path) -> None:
    """All sessions of a file, the newest first."""
    kept = _by_session(read_kept(path))
    if not kept:
        screen.line(f"Nothing is kept in {path}.")
    for key, items in kept.items():
        rows = [row_of(item) for item in items]
        turns = "1 turn" if len(rows) == 1 else f"{len(rows)} turns"
        screen.line(key, "bold")
        screen.labelled("", f"{turns}, the last {_time(rows[-1])} {rows[-1].status}: {rows[-1].question}")


def show_sessions(screen: Screen, sessions: Iterable[Sequence[Item]]) -> None:
    """Every kept turn of the sessions: what was asked, done and answered, and what waits."""
    with importable():
        from agent.adapters.dynamodb.items import from_item
        from local.recordings import waiting
        from local.trajectory import trajectory

        for items in sessions:
            for item in items:
                turn, row = from_item(item), row_of(item)
                screen.heading(f"Turn {turn.turn} of {turn.key}")
                screen.labelled("when", f"{_time(row)} {turn.status}", "dim")
                screen.labelled("question", turn.question)
                for step in trajectory(turn.messages or []):
                    style = "green" if step.status == "success" else "red"
                    screen.labelled("tool", f"{step.name}  {step.status or 'not run'}  {exact_json(step.input)}", style)
                if turn.response:
                    screen.answer(turn.response)
            for each in waiting(items):
                screen.waits(each)


def _by_session(items: Iterable[Item]) -> dict[str, list[Item]]:
    """The turns by their session's key, in order; the session whose last turn is the newest comes first."""
    kept: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda item: row_of(item).turn):
        if row_of(item).status:  # a count of a caller's tokens has none
            kept.setdefault(row_of(item).session_id, []).append(item)
    return dict(sorted(kept.items(), key=lambda pair: row_of(pair[1][-1]).created_at, reverse=True))


def _time(row: Row) -> str:
    return row.created_at.replace("T", " ").rstrip("Z")
