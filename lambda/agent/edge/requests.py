"""What callers ask for, checked: a question, or what they say of tool uses that wait. Unknown keys are ignored."""

import re

import msgspec

from agent.errors import InvalidRequestError, PayloadTooLargeError
from agent.messages import TOOL_USE_ID, clean_text

MAX_QUESTION_CHARS = 100_000
MAX_APPROVALS = 1000  # the most tool uses that a step may hold
_MAX_REASON_CHARS = 1000
_APPROVALS_HINT = (
    'Send {"approvals": {"<approval id>": true}} or {"approved": false, "reason": "..."} for a tool use that waits.'
)
_ID = re.compile(r"[A-Za-z0-9._:@-]{1,128}")
HINT = 'Send {"question": "...", "session_id": "..."}; session_id is optional.'


class Chat(msgspec.Struct, frozen=True):
    """A checked direct event or body of POST /chat; None where the client left an id out."""

    question: str
    session_id: str | None
    request_id: str | None


class Approvals(msgspec.Struct, frozen=True):
    """Checked decisions: approval id -> approved, and why. `caller` is whose session it is, None for one's own."""

    session_id: str
    verdicts: dict[str, tuple[bool, str]]
    caller: str | None


def chat_of(value: object) -> Chat:
    """The checked chat request of a direct event or body. Raises InvalidRequestError or PayloadTooLargeError."""
    if not isinstance(value, dict):
        raise InvalidRequestError(f"The request must be a JSON object. {HINT}")
    question = value.get("question")
    if not isinstance(question, str) or not question.strip():
        raise InvalidRequestError(f"question must be a text that is not blank. {HINT}")
    if len(question) > MAX_QUESTION_CHARS:
        raise PayloadTooLargeError("The question is longer than 100,000 characters.")
    ids = {
        name: None if value.get(name) is None else checked_id(value[name], name)
        for name in ("session_id", "request_id")
    }
    return Chat(clean_text(question), ids["session_id"], ids["request_id"])


def approvals_of(value: object, session_id: str | None = None) -> Approvals:
    """The checked decisions of a direct event or body; over HTTP the path names the session.

    Raises InvalidRequestError.
    """
    if not isinstance(value, dict) or not isinstance(value.get("approvals"), dict) or not value["approvals"]:
        raise InvalidRequestError(_APPROVALS_HINT)
    verdicts = {}
    for name, said in value["approvals"].items():
        match said:
            case bool():
                verdicts[name] = (said, "")
            case {"approved": bool(approved), "reason": str(reason)}:
                verdicts[name] = (approved, clean_text(reason)[:_MAX_REASON_CHARS])
            case {"approved": bool(approved)} if "reason" not in said:
                verdicts[name] = (approved, "")
            case _:
                raise InvalidRequestError(_APPROVALS_HINT)
    if not all(TOOL_USE_ID.fullmatch(name) for name in verdicts) or len(verdicts) > MAX_APPROVALS:
        raise InvalidRequestError(_APPROVALS_HINT)
    caller = value.get("caller")
    return Approvals(
        session_id=session_id or checked_id(value.get("session_id"), "session_id"),
        verdicts=verdicts,
        caller=None if caller is None else checked_id(caller, "caller"),
    )


def checked_id(value: object, name: str) -> str:
    """A session, request or caller id. Raises InvalidRequestError."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise InvalidRequestError(f"{name} must be 1 to 128 letters, digits or any of . _ : @ -")
    return value
