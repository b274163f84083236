"""The search of the web, over a stand-in for the library that it asks."""

import logging
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agent.deadline import Deadline
from agent.errors import ToolError
from agent.tooling.tool import ToolContext
from agent.tools.web_search import search_web

_TOOLS = Path(__file__).parents[3] / "lambda" / "agent" / "tools"
_FOUND = [
    {"title": " 東京タワー ", "href": "https://example.com/tower", "body": "333 m high"},
    {"title": "Skytree", "href": "https://example.com/tree", "body": None, "rank": 2},
]


class _DDGSError(Exception):
    pass


class _RateLimitError(_DDGSError):
    pass


class _TimeoutError(_DDGSError):
    pass


class _Library:
    """Stands in for ddgs: answers with `found`, or raises it."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self.asked: list[tuple[str, int]] = []

    def __call__(self, timeout: int) -> "_Library":
        assert 0 < timeout < 20
        return self

    def text(self, query: str, max_results: int) -> Any:
        self.asked.append((query, max_results))
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def _library(monkeypatch: pytest.MonkeyPatch, found: Any) -> _Library:
    library = _Library(found)
    module, errors = ModuleType("ddgs"), ModuleType("ddgs.exceptions")
    vars(module).update(DDGS=library)
    vars(errors).update(DDGSException=_DDGSError, RatelimitException=_RateLimitError, TimeoutException=_TimeoutError)
    monkeypatch.setitem(sys.modules, "ddgs", module)
    monkeypatch.setitem(sys.modules, "ddgs.exceptions", errors)
    return library


def _search(query: str, max_results: int = 5) -> list[dict[str, str]]:
    context = ToolContext("s", "", "t1", Deadline.after(20), logging.getLogger("tests"))
    return search_web(query, context, max_results)["results"]


def test_a_result_has_title_address_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _library(monkeypatch, _FOUND)
    assert _search("towers") == [
        {"title": "東京タワー", "address": "https://example.com/tower", "text": "333 m high"},
        {"title": "Skytree", "address": "https://example.com/tree", "text": ""},
    ]
    assert library.asked == [("towers", 5)]


def test_no_more_results_come_back_than_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _library(monkeypatch, _FOUND * 20)
    assert len(_search("towers", 3)) == 3
    assert library.asked == [("towers", 3)]


def test_a_long_result_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    _library(monkeypatch, [{"title": "t" * 10**6, "href": "h" * 10**6, "body": "b" * 10**6}] * 10)
    results = _search("towers", 10)
    assert all(text.endswith("…") for result in results for text in result.values())
    assert sum(len(text) for result in results for text in result.values()) < 20_000


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (_RateLimitError("202"), "refuse more searches"),
        (_TimeoutError("timed out"), "in time"),
        (_DDGSError("https://secret.example.com refused"), "can't be reached"),
        (ConnectionError("no route"), "can't be reached"),
    ],
)
def test_a_failure_of_the_network_is_an_error_for_the_model(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, told: str
) -> None:
    _library(monkeypatch, failure)
    with pytest.raises(ToolError, match=told) as raised:
        _search("towers")
    assert "secret" not in raised.value.message


def test_finding_nothing_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    _library(monkeypatch, _DDGSError("No results found."))
    assert _search("towers") == []


@pytest.mark.parametrize(("query", "most"), [("", 5), (" \n", 5), ("towers", 0), ("towers", 11), ("towers", -1)])
def test_a_search_that_makes_no_sense_is_not_made(monkeypatch: pytest.MonkeyPatch, query: str, most: int) -> None:
    library = _library(monkeypatch, _FOUND)
    with pytest.raises(ToolError, match="must"):
        _search(query, most)
    assert library.asked == []


def test_without_its_packages_the_tool_says_that_it_cannot_search(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)  # an import of it fails, whether it is installed or not
    with pytest.raises(ToolError, match="not installed"):
        _search("towers")
    assert "lock" in caplog.text


def test_its_lock_names_hashes_and_no_place_to_download_from() -> None:
    text = (_TOOLS / "web_search.lock").read_text(encoding="utf-8")
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert any(entry.startswith("ddgs==") for entry in entries)
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search("https?://|--index-url|--find-links|file:", text)
