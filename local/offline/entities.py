"""What a question names: dates, addresses, numbers, codes, people, places, in Japanese and English.

Every repetition in a pattern is bounded, so that no text makes a search slow.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from local.offline.words import forms_of

NUMBER = r"\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?"
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_ERA_STARTS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911}  # the year before the era's first
_MONTH = r"(?P<month>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DATES = [
    re.compile(r"(?P<era>令和|平成|昭和|大正)?(?P<year>\d{1,4}|元) ?年 ?(?P<month>\d{1,2}) ?月 ?(?P<day>\d{1,2}) ?日?"),
    re.compile(r"(?<!\d)(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?!\d)"),
    re.compile(rf"\b{_MONTH} {{1,3}}{_DAY},? {{1,3}}(?P<year>\d{{4}})(?!\d)", re.IGNORECASE),
    re.compile(rf"(?<!\d){_DAY} {{1,3}}(?:of )?{_MONTH},? {{1,3}}(?P<year>\d{{4}})(?!\d)", re.IGNORECASE),
    re.compile(r"(?<![\d/])(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>\d{4})(?!\d)"),
]
_EMAIL = re.compile(r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
_URL = re.compile(r"https?://[^\s<>\"'、。()「」]{1,2000}")
_PHONE = re.compile(r"(?<![\d-])\+?\d{2,4}-\d{2,4}-\d{3,4}(?![\d-])")
_CODE = re.compile(
    r"(?<![A-Za-z0-9-])(?:[A-Za-z]{1,10}[-_#]?\d{1,20}(?:-[A-Za-z0-9]{1,20}){0,4}|#\d{1,20})(?![A-Za-z0-9])"
)
_NUMBER = re.compile(rf"(?<![\w.])-?{NUMBER}(?![.]?\d)|(?<=[^\x00-\x7f]){NUMBER}")
_QUOTED = re.compile(r"\"([^\"\n]{1,500})\"|「([^」\n]{1,500})」|『([^』\n]{1,500})』|“([^”\n]{1,500})”")
_CAPITALISED = r"[A-Z][\w.'-]{0,30}(?: [A-Z][\w.'-]{0,30}){0,3}"
_JAPANESE_NAME = r"[一-龯々ァ-ヶーぁ-ん]{1,15}(?: [一-龯々ァ-ヶーぁ-ん]{1,8})?"
_PEOPLE = [
    re.compile(rf"({_CAPITALISED}|{_JAPANESE_NAME}) ?\((?=[^()]{{0,200}}[,、@])"),
    re.compile(rf"({_CAPITALISED}|{_JAPANESE_NAME}?) ?(?:さん|様|氏)"),
    re.compile(rf"\b(?:for|named|called|name is|by|of) ({_CAPITALISED})"),
]
_PLACES = [
    re.compile(rf"\b(?:in|at|near|into|to|from|for) ({_CAPITALISED})"),
    re.compile(r"([一-龯々ァ-ヶー]{1,15})(?:の|で(?=の)|における)(?=[一-龯])"),
]
_NO_PLACES = {"今日", "明日", "昨日", "今", "現在", "今週", "来週", "今夜", "私", "僕", "俺", "人", "次", "最新"}
_GROUP_NAME = re.compile(r".{0,40}(?:部|課|室|局|本部|チーム|グループ|[Dd]epartment|[Dd]ept\.?|[Dd]ivision|[Tt]eam)")
_LEADING_WORDS = re.compile(r".{1,14}[のはをにがで、](?=[一-龯々ァ-ヶ])")
_ROLE_IN_GROUP = re.compile(
    r"\b(?:an? |the )?(?P<title>[a-z]{3,20}(?: [a-z]{3,20})?) (?:in|of|at) (?:the )?(?P<group>[A-Za-z&]{2,30}) "
    r"(?:department|dept|division|team)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Entities:
    """What was found, each kind in the order of the text; dates are YYYY-MM-DD, whether or not they exist."""

    dates: tuple[str, ...]
    emails: tuple[str, ...]
    urls: tuple[str, ...]
    phones: tuple[str, ...]
    codes: tuple[str, ...]
    numbers: tuple[float | int, ...]
    people: tuple[str, ...]
    departments: tuple[str, ...]
    titles: tuple[str, ...]
    places: tuple[str, ...]
    quotes: tuple[str, ...]
    rest: str
    """The text with dates, addresses and codes blanked out: what numbers and formulas are looked for in."""


def extract(text: str) -> Entities:
    """Find the entities of a text that is in NFKC form."""
    urls, rest = _take([_URL], text)
    emails, rest = _take([_EMAIL], rest)
    dates, rest = _take(_DATES, rest)
    phones, rest = _take([_PHONE], rest)
    codes, rest = _take([_CODE], rest)
    people = _distinct(_without_leading_words(found[1]) for pattern in _PEOPLE for found in pattern.finditer(text))
    departments, titles = _posts(text)
    places = _distinct(found[1] for pattern in _PLACES for found in pattern.finditer(rest))
    return Entities(
        dates=tuple(date for date in map(_iso_date, dates) if date),
        emails=tuple(found[0] for found in emails),
        urls=tuple(found[0] for found in urls),
        phones=tuple(found[0] for found in phones),
        codes=tuple(found[0].lstrip("#") for found in codes),
        numbers=numbers_in(rest),
        people=people,
        departments=departments,
        titles=titles,
        places=tuple(place for place in places if place not in _NO_PLACES),
        quotes=tuple(next(group for group in found.groups() if group) for found in _QUOTED.finditer(text)),
        rest=rest,
    )


def numbers_in(text: str) -> tuple[float | int, ...]:
    """The finite numbers of a text; one without a decimal point or exponent is an int."""
    texts = [found[0] for found in _NUMBER.finditer(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text))]
    values = [int(number) if re.fullmatch(r"-?\d{1,15}", number) else float(number) for number in texts]
    return tuple(value for value in values if math.isfinite(value))


def labelled(text: str, name: str) -> str:
    """The text that is given for a name, as in `city: Paris`, `city = Paris`, 部署は開発部; else blank."""
    for form in sorted(forms_of(name), key=len, reverse=True):
        link = r" ?(?:[:=は]| is )" if len(form) > 2 or not form.isascii() else r" ?[:=]"
        border = r"(?<![A-Za-z])" if form.isascii() else ""
        found = re.search(rf"{border}{re.escape(form)}{link} ?([^、,;。!?\n()]{{1,80}})", text, re.IGNORECASE)
        if found:
            return re.split(r" and |です|で$", found[1])[0].strip(" .\"'「」")
    return ""


def _take(patterns: Iterable[re.Pattern[str]], text: str) -> tuple[list[re.Match[str]], str]:
    """The matches in the order of the text, and the text with them blanked out."""
    found: list[re.Match[str]] = []
    for pattern in patterns:
        matches = list(pattern.finditer(text))
        found += matches
        for match in matches:
            text = text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]
    return sorted(found, key=lambda match: match.start()), text


def _iso_date(found: re.Match[str]) -> str:
    """YYYY-MM-DD; blank where day and month can't be told apart."""
    parts = found.groupdict()
    if "first" in parts:
        first, second = int(parts["first"]), int(parts["second"])
        if first != second and (first > 12) == (second > 12):
            return ""
        month, day = (second, first) if first > 12 else (first, second)
    else:
        day = int(parts["day"])
        word = parts["month"]
        month = int(word) if word.isdigit() else _MONTHS.index(word[:3].lower()) + 1
    year = 1 if parts["year"] == "元" else int(parts["year"])
    return f"{year + _ERA_STARTS.get(parts.get('era') or '', 0):04}-{month:02}-{day:02}"


def _posts(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Departments and titles: from brackets behind a name, else from `<title> in the <name> department`."""
    departments: list[str] = []
    titles: list[str] = []
    for bracket in re.findall(r"\(([^()]{1,200})\)", text):
        if not re.search(r"[,、@ ]", bracket):
            continue
        listed = re.split(r"[,、/・;]", _EMAIL.sub("", bracket))
        for part in [part for item in listed for part in _split_group(item.strip()) if part]:
            is_group = _GROUP_NAME.fullmatch(part) is not None
            (departments if is_group else titles).append(part)
        if not departments and len(titles) > 1:
            departments.append(titles.pop(0))
    if not departments and (found := _ROLE_IN_GROUP.search(text)):
        departments.append(found["group"])
        titles.append(found["title"])
    return tuple(departments), tuple(titles)


def _split_group(part: str) -> list[str]:
    """A Japanese `開発部 エンジニア` or `開発部のエンジニア` as two parts; everything else as one."""
    first, _, second = part.partition("の") if "の" in part else part.partition(" ")
    return [first, second] if _GROUP_NAME.fullmatch(first) and not first.isascii() else [part]


def _without_leading_words(name: str) -> str:
    return _LEADING_WORDS.sub("", name).strip()


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
