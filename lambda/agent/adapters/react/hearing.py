"""A ReAct reply while it is written: what is surely its answer is told, which is what stands behind its final label."""

from agent.adapters.react.reading import LABEL
from agent.ports import TextListener

_LONGEST_THOUGHT = 20_000  # characters before the answer; behind more it is told whole, at the end
_LONGEST_LABEL = 24  # characters of a line's start, in which a label would stand
_ENDS = ("thought", "observation")  # labels that end an answer


class Hearing:
    """The TextListener of one reply, which passes on what is surely of the answer."""

    def __init__(self, listener: TextListener) -> None:
        self._listener = listener
        self._held, self._seen, self._stage, self._is_plain = "", 0, "before", False

    def text(self, text: str) -> None:
        """The model wrote this."""
        self._held += text
        if self._stage == "before":
            self._look_for_answer()
        if self._stage == "within":
            self._tell_lines()
        elif self._stage == "over":
            self._held = ""

    def void(self) -> None:
        """The reply begins anew."""
        self._listener.void()
        self._held, self._seen, self._stage, self._is_plain = "", 0, "before", False

    def _look_for_answer(self) -> None:
        """Whether the first label that is no thought's is the answer's; only whole labels at the start of a line count."""
        line = self._held.rfind("\n", 0, self._seen) + 1  # where the line begins that was not whole yet
        self._seen = len(self._held)
        for found in LABEL.finditer(self._held, line):
            if found.lastgroup == "final" and len(self._held) - found.end() > 3 and "<think>" not in self._held[:100]:
                self._held, self._stage, self._is_plain = self._held[found.end() :], "within", True
            elif found.lastgroup not in ("thought", "final", "other"):
                self._stage = "over"
            if self._stage != "before":
                return
        if self._seen > _LONGEST_THOUGHT:
            self._stage = "over"

    def _tell_lines(self) -> None:
        """Tells what has come of the answer; a line that may begin with a label waits until it is whole."""
        while self._held:
            line, end, rest = self._held.partition("\n")
            label = None if self._is_plain else LABEL.match(line)
            if label and label.lastgroup in _ENDS:
                self._stage, self._held = "over", ""
                return
            if not (end or self._is_plain or len(line.lstrip()) > _LONGEST_LABEL):
                return
            # the stars around **Final Answer: 42** are none of the answer's
            told = line + end if end else line.rstrip("*")
            self._held, self._is_plain = (rest, False) if end else (line[len(told) :], True)
            self._listener.text(told)
            if not end:
                return
