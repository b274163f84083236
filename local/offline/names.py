"""The user's name: told in the conversation, asked for in the question."""

import re
from collections.abc import Sequence

_ME = r"(?:私|わたし|僕|ぼく|俺)"
_LATIN = r"[A-Z][\w'-]{0,30}(?: [A-Z][\w'-]{0,30}){0,3}"
_TELLS = [
    re.compile(
        rf"(?:^|[\s、。,.!?]|{_ME}の)名前は ?[「『]?([^\s、。,.!?「」『』は]{{1,20}}?)[」』]?"
        r"(?:です|だ|といい|と言い|と申し|。|、|$)"
    ),
    re.compile(
        r"(?:^|[\s、。,.!?は])[「『]?([^\s、。,.!?「」『』は]{1,20})[」』]?(?:と申します|といいます|と言います|と呼んで)"
    ),
    re.compile(
        rf"\b(?i:my name is|my name's|call me) ({_LATIN}|(?!not\b|what\b|a\b|the\b|on\b|in\b|later\b)[a-z]{{2,30}}\b)"
    ),
    re.compile(rf"\b(?:I am|I'm|i'm|i am|I’m) ({_LATIN})"),
]
_NO_NAMES = re.compile(r"何|なん|誰|だれ|どう|OK$|I$")
_ASKS = [
    re.compile(
        rf"{_ME}の名前(?:は|を|も|が|って)?(?:\s*\??\s*$|[^。、\n]{{0,15}}?(?:\?|何|なん|覚え|分か|わか|知って|思い出|教えて|言って))"
    ),
    re.compile(rf"{_ME}(?:は|が|って)(?:誰|だれ)"),
    re.compile(
        r"\b(?:what(?:'s| is| was)|remember|know|recall|tell me|say|forg[eo]t\w{0,3}) my name\b|\bwho am i\b",
        re.IGNORECASE,
    ),
]


def told_name(texts: Sequence[str]) -> str:
    """The name that the user told last in these texts, oldest first; blank if none was told."""
    name = ""
    for text in texts:
        found = sorted((match.start(), match[1]) for pattern in _TELLS for match in pattern.finditer(text))
        name = next((told for _, told in reversed(found) if not _NO_NAMES.search(told)), name)
    return name


def asks_for_name(text: str) -> bool:
    """Whether the user asks for the own name."""
    return any(pattern.search(text) for pattern in _ASKS)
