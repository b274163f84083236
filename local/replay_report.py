"""What a replay found, for a person and as JSON. Imports the core."""

from collections.abc import Sequence
from typing import Any

from local.replay import Replayed, Step
from local.screen import Screen
from local.terminal import exact_json
from local.trajectory import ToolStep


def show(screen: Screen, replayed: Sequence[Replayed]) -> None:
    """Every turn, step by step; both results where they differ."""
    for each in replayed:
        _show_turn(screen, each)
    differing = sum(each.differs for each in replayed)
    screen.line()
    turns = "1 turn was" if len(replayed) == 1 else f"{len(replayed)} turns were"
    found = f"in {differing} of them something differs" if len(replayed) > 1 else "something differs"
    screen.line(f"{turns} run again: {found if differing else 'nothing differs'}.", "red" if differing else "green")


def as_json(replayed: Replayed) -> dict[str, Any]:
    """A turn that was run again, as JSON holds it."""
    recording = replayed.recording
    return {
        "session": recording.key,
        "turn": recording.turn,
        "question": recording.question,
        "differs": replayed.differs,
        "steps": [
            {
                "differs": step.differs,
                "repeated": step.repeated,
                "recorded": _step_as_json(step.recorded),
                "today": _step_as_json(step.today),
            }
            for step in replayed.steps
        ],
        "lost_steps": recording.lost,
        "answer": {"recorded": recording.answer, "today": replayed.answer},
        "stop_reason": {"recorded": recording.stop_reason, "today": replayed.stop_reason},
    }


def _show_turn(screen: Screen, replayed: Replayed) -> None:
    recording = replayed.recording
    screen.heading(f"Turn {recording.turn} of {recording.key}")
    screen.labelled("question", recording.question)
    for step in replayed.steps:
        _show_step(screen, step)
    if recording.lost:
        screen.labelled("lost", f"{recording.lost} tool uses, which were too long to be stored", "yellow")
    if not replayed.answer_differs:
        screen.labelled(
            "same", f"answer: {replayed.answer}" if recording.stop_reason else "as far as it was recorded", "green"
        )
        return
    screen.labelled("differs", "answer", "red")
    screen.labelled("", f"recorded  {recording.stop_reason}  {recording.answer}")
    screen.labelled("", f"today     {replayed.stop_reason}  {replayed.answer}")


def _show_step(screen: Screen, step: Step) -> None:
    made = step.recorded or step.today
    call = f"{made.name}  {exact_json(made.input)}" if made else ""
    if not step.differs:
        screen.labelled("same", call, "green")
        if step.repeated:
            screen.labelled("", "not run, it has side effects: its recorded result was used", "dim")
        return
    screen.labelled("differs", call, "red")
    screen.labelled("", f"recorded  {_outcome(step.recorded)}")
    screen.labelled("", f"today     {_outcome(step.today)}")


def _outcome(step: ToolStep | None) -> str:
    if step is None:
        return "not asked for"
    if not step.status:
        return "not run"
    return f"{step.status}  {' '.join(_plain(block) for block in step.result)}"


def _plain(block: dict[str, Any]) -> str:
    return str(block["text"]) if "text" in block else exact_json(block.get("json"))


def _step_as_json(step: ToolStep | None) -> dict[str, Any] | None:
    if step is None:
        return None
    return {"tool": step.name, "input": step.input, "status": step.status, "result": step.result}
