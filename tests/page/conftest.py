"""The page, served and in a browser; where no browser can be had, its tests are left out and it is said."""

import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from infra.node import NodeError
from local.bedrock.reply import Reply
from local.bedrock.script import ScriptedModel
from local.bedrock.server import BedrockServer
from local.screen import Screen
from local.serve import serve
from local.stack import Choices, Stack, local_stack
from tests.page.browser import ARGUMENTS, find_browser, install


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        try:
            install()
            path = find_browser(playwright)
        except NodeError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"no browser can be had: {error}")
        made = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield made
        made.close()


class Model:
    """Says what it was told last."""

    def __init__(self) -> None:
        self._script = ScriptedModel([])

    def says(self, *replies: dict[str, Any]) -> None:
        self._script = ScriptedModel(replies)

    def __call__(self, model_id: str, request: dict[str, Any]) -> Reply:
        return self._script(model_id, request)


@dataclass
class Site:
    """A `serve` that runs: its address, its stack, and the model, which says what a test tells it to."""

    url: str
    stack: Stack
    model: Model


@contextmanager
def serving(tmp_path: Path, **settings: str) -> Iterator[Site]:
    """The command's own code, in a thread; the model stands behind the stand-in for Bedrock."""
    model = Model()
    address: queue.Queue[str] = queue.Queue()
    done = threading.Event()

    def wait(url: str) -> None:
        address.put(url)
        done.wait()

    with BedrockServer(model) as server:
        choices = Choices(settings={"TOOLS": "*,tickets", **settings})
        with local_stack(choices, model_server=server) as stack, (tmp_path / "log").open("w") as out:
            thread = threading.Thread(target=serve, args=(stack, Screen(out), 0, [], wait), daemon=True)
            thread.start()
            yield Site(address.get(timeout=30), stack, model)
            done.set()
            thread.join(10)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with pytest.MonkeyPatch.context() as patched:
        # signals are for the main thread alone
        patched.setattr("local.foreground.signal.signal", lambda *_: None)
        with serving(tmp_path_factory.mktemp("page")) as running:
            yield running


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Opens the page, which must not complain of anything in its console."""
    contexts, complaints = [], []

    def complain(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    def make(**options: Any) -> Page:
        context = browser.new_context(**{"locale": "en-US", **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", complain)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(site.url)
        return page

    yield make
    for context in contexts:
        context.close()
    assert [each for each in complaints if "status of 4" not in each] == []
