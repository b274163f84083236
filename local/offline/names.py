"""The user's name: told in the conversation, asked for in the question."""

import re
from collections.abc import Sequence

_ME = r"(?:私|わたし|僕|俺)"
_LATIN = r"[A-Z][\w'-]{0,30}(?: [A-Z][\w'-]{0,30}){0,3}"
_TELLS = re.compile(
    rf"(?:^|[\s、。,.!?]|{_ME}の)名前は ?[「『]?([^\s、。,.!?「」『』は]{{1,20}}?)[」』]?(?:です|だ|と|。|、|$)"
    rf"|\b(?:(?i:my name is|call me)|I am|I'm) ({_LATIN})"
)
_NO_NAMES = re.compile(r"何|なん|誰|だれ|どう|OK$|I$")
_ASKS = re.compile(
    rf"{_ME}の名前(?:は|を|も|が|って)?(?:\s*\??\s*$|[^。、\n]{{0,15}}?(?:\?|何|なん|覚え|わか|知って|教えて))"
    r"|(?i:\b(?:what(?:'s| is| was)|remember|know|recall|tell me) my name\b|\bwho am i\b)"
)


def told_name(texts: Sequence[str]) -> str:
    """The name that the user told last in these texts, oldest first; blank if none was told."""
    name = ""
    for text in texts:
        found = [match[1] or match[2] for match in _TELLS.finditer(text)]
        name = next((told for told in reversed(found) if not _NO_NAMES.search(told)), name)
    return name


def asks_for_name(text: str) -> bool:
    """Whether the user asks for the own name."""
    return _ASKS.search(text) is not None
