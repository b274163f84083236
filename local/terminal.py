"""What is printed never acts on the terminal: signs that would, or that hide or turn others around, stand as their codes.

The texts are those of models, tools and users. Codes are JSON's, so that what is printed as JSON stays the same JSON.
"""

import contextlib
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, cast

# Unicode's Default_Ignorable_Code_Point, of which most is neither printable nor a control character, yet shows nothing
# (DerivedCoreProperties.txt); U+2800 is Braille's blank.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# C0 but for tab and line feed, DEL and C1, further line ends, interlinear marks, surrogates, private use.
_ACTING = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\ud800-\udfff\ue000-\uf8ff"
    "\U000f0000-\U000ffffd\U00100000-\U0010fffd"
)
_EMOJI = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
# An emoji may be made of several by joiners, and may choose its colours: within one these signs are what they are for.
_SIGN = re.compile(
    rf"(?<=[{_EMOJI}])\ufe0f|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])|(?P<code>[{_ACTING}{_INVISIBLE}])"
)


def visible(text: str) -> str:
    """The text with its dangerous signs as codes; tabs and line ends stay, and those of Windows become plain ones."""
    return _SIGN.sub(lambda found: _code(found[0]) if found["code"] else found[0], text.replace("\r\n", "\n"))


def exact_json(value: Any) -> str:
    """The value as JSON in one line, to be decided on: whatever isn't plainly a sign is a code, blanks of other scripts too."""
    text = visible(json.dumps(value, ensure_ascii=False))
    return "".join(sign if sign.isprintable() else _code(sign) for sign in text)


class VisibleStream:
    """A text stream to which only visible text is written. `raw` is the stream itself, for what is safe already."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write a text. Returns the number of its signs, as streams do."""
        self.raw.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextlib.contextmanager
def visible_output() -> Iterator[None]:
    """Within the context, standard output and error are visible streams; a sign that they can't encode becomes ?."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Japanese shows ? rather than a trace
            stream.reconfigure(errors="replace")
    out, err = cast(TextIO, VisibleStream(sys.stdout)), cast(TextIO, VisibleStream(sys.stderr))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield


def _code(sign: str) -> str:
    return json.dumps(sign)[1:-1] if sign != "\x7f" else "\\u007f"
