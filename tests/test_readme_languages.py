"""README.ja.md has the same content as README.md: headings, code, tables and links."""

import re
from collections.abc import Callable

import pytest

from tests.documents import JAPANESE, README


def headings(text: str) -> list[int]:
    return [len(found) for found in re.findall(r"^(#+) ", without_code(text), re.MULTILINE)]


def without_code(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def code(text: str) -> list[str]:
    return re.findall(r"```.*?```", text, flags=re.DOTALL)


def tables(text: str) -> list[int]:
    return [line.count("|") for line in without_code(text).splitlines() if line.startswith("|")]


def links(text: str) -> set[str]:
    found = set(re.findall(r"\]\(([^)#]+)", without_code(text)))
    return {link.replace("README.ja.md", "README.md").replace("readme.ja.md", "readme.md") for link in found}


def numbers(text: str) -> list[str]:
    return sorted(re.findall(r"\d+\.\d\d", without_code(text)))


@pytest.mark.parametrize("what", [headings, code, tables, links, numbers])
def test_both_languages_hold_the_same(what: Callable[[str], object]) -> None:
    assert what(JAPANESE) == what(README)
    assert what(README)
