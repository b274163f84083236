"""What a question names: dates, addresses, numbers, codes, people, places, in Japanese and English.

Every repetition in a pattern is bounded, so that no text makes a search slow.
"""

import math
import re

from local.offline.words import forms_of

_DATE = re.compile(r"(?<!\d)(\d{4})(?:[-/.]| ?年 ?)(\d{1,2})(?:[-/.]| ?月 ?)(\d{1,2})(?!\d)日?")
_EMAIL = re.compile(r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
_CODE = re.compile(r"(?<![A-Za-z0-9-])[A-Za-z]{1,10}[-_#]?\d{1,20}(?:-[A-Za-z0-9]{1,20}){0,4}(?![A-Za-z0-9])")
_DIGITS = r"\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?"
_NUMBER = re.compile(rf"(?<![\w.])-?{_DIGITS}(?![.]?\d)|(?<=[^\x00-\x7f]){_DIGITS}")
_CAPITALISED = r"[A-Z][\w.'-]{0,30}(?: [A-Z][\w.'-]{0,30}){0,3}"
_PERSON = re.compile(
    rf"({_CAPITALISED}|[一-龯々ァ-ヶー]{{1,15}}) ?\((?=[^()]{{0,200}}@)|\b(?:for|named|of) ({_CAPITALISED})"
)
_PLACE = re.compile(rf"\b(?:in|at|near|to|from|for) ({_CAPITALISED})|([一-龯々ァ-ヶー]{{1,15}})の(?=[一-龯])")
_NO_PLACES = ("今日", "明日", "昨日", "今", "私", "人", "次")
_QUOTED = re.compile(r"\"([^\"\n]{1,500})\"|「([^」\n]{1,500})」")
# `(開発部 エンジニア、` or `(Sales, Manager,` behind a name
_POST = re.compile(r"\(([^()、,@ ]{1,40})[ 、,]{1,2}([^()、,@]{1,40}?)[ 、,]{1,2}[^()]{0,100}@")


def extract(text: str) -> dict[str, list[str]]:
    """The entities of a text in NFKC form by kind, each in the order of the text; dates are YYYY-MM-DD, real or not.

    `rest` is the text with dates, addresses and codes blanked out: what numbers and formulas are looked for in.
    """
    rest = text
    taken = {}
    for kind, pattern in (("emails", _EMAIL), ("dates", _DATE), ("codes", _CODE)):
        taken[kind] = [found[0] for found in pattern.finditer(rest)]
        rest = pattern.sub(lambda found: " " * len(found[0]), rest)
    posts = _POST.findall(text)
    parts = [_DATE.fullmatch(date) for date in taken["dates"]]
    return taken | {
        "dates": [f"{int(found[1]):04}-{int(found[2]):02}-{int(found[3]):02}" for found in parts if found],
        "people": _groups(_PERSON, text),
        "departments": [department for department, _ in posts],
        "titles": [title for _, title in posts],
        "places": [place for place in _groups(_PLACE, rest) if place not in _NO_PLACES],
        "quotes": _groups(_QUOTED, text),
        "rest": [rest],
    }


def numbers_in(text: str) -> list[float | int]:
    """The finite numbers of a text; one without a decimal point or exponent is an int."""
    texts = [found[0] for found in _NUMBER.finditer(text)]
    values = [int(number) if re.fullmatch(r"-?\d{1,15}", number) else float(number) for number in texts]
    return [value for value in values if math.isfinite(value)]


def labelled(text: str, name: str) -> str:
    """The text that is given for a name, as in `city: Paris` or 部署は開発部; else blank."""
    forms = "|".join(re.escape(form) for form in forms_of(name))
    found = re.search(rf"(?<![A-Za-z])(?:{forms}) ?[:=は] ?([^、,;。!?\n()]{{1,80}})", text, re.IGNORECASE)
    return found[1].removesuffix("です").strip(" .\"'「」") if found else ""


def _groups(pattern: re.Pattern[str], text: str) -> list[str]:
    return list(dict.fromkeys(next(filter(None, found.groups())) for found in pattern.finditer(text)))
