"""The desk of docs/agents.md: a refund waits, survives its process, is made once, and can be replayed."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.trajectory import ToolStep, assert_trajectory
from tests.fakes import use
from tests.shown.transcripts import ids, play, shown, with_ids

pytestmark = pytest.mark.slow

_DESK = shown("A desk that refunds only with a yes")
_REFUND = {"order_id": "A-1001", "amount": 12800, "reason": "The headphones of T-1001 arrived broken."}


def _item(file: Path) -> dict[str, Any]:
    """The one turn that is kept."""
    (item,) = json.loads(file.read_text(encoding="utf-8"))["sessions"]
    assert isinstance(item, dict)
    return item


def _used(file: Path, refund: str) -> None:
    """Both lookups succeeded, and then the refund ended like that."""
    assert_trajectory(
        json.loads(_item(file)["messages"]["S"]),
        ToolStep("ticket_status", {"ticket_id": "T-1001"}),
        ToolStep("lookup_invoice", {"invoice_id": "INV-1001"}),
        ToolStep("refund_order", _REFUND, refund),
    )


def test_a_refund_waits_and_is_made_once_by_a_new_process(folder: Path) -> None:
    asking, copying, approving, again, denying = _DESK
    known = ids(asking, play(asking))
    play(copying)
    assert _item(folder / "waiting.json")["status"]["S"] == "awaiting_approval"
    play(with_ids(approving, known), new_process=True)
    _used(folder / "desk.json", "success")
    play(with_ids(again, known), new_process=True)  # shown without a tool use, and all that is printed is shown
    play(with_ids(denying, known))
    _used(folder / "waiting.json", "error")
    assert "no photo of the damage" in _item(folder / "waiting.json")["messages"]["S"]


def test_the_refund_can_be_replayed_and_exported(folder: Path) -> None:
    asking, _, approving, *_ = _DESK
    replaying, exporting = shown("Run a turn again")
    known = ids(asking, play(asking))
    play(with_ids(approving, known), new_process=True)  # the records of the desk last as long as a process
    play(replaying)
    play(exporting)
    exported = json.loads((folder / "recorded.json").read_text(encoding="utf-8"))
    written = [json.loads(Path(f"docs/scripts/{name}.json").read_text()) for name in ("refund", "refund-decided")]
    assert [_said(entry) for entry in exported] == [_said(entry) for script in written for entry in script]


def _said(entry: dict[str, Any]) -> tuple[str, list[Any]]:
    """Text and tool uses of a script's entry, but for ids."""
    uses = entry.get("tool_use", [])
    uses = uses if isinstance(uses, list) else [uses]
    return entry.get("text", ""), [use("", each["name"], each["input"]) for each in uses]
