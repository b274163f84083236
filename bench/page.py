"""What the page costs a browser: `python -m bench.page`. Its weight, its longest task with 100 turns, its first text."""

import json
import queue
import sys
import threading
from typing import Any

from playwright.sync_api import Page, sync_playwright

from infra.node import NodeError
from local.bedrock.script import ScriptedModel
from local.bedrock.server import BedrockServer
from local.screen import Screen
from local.serve import serve
from local.stack import Choices, Stack, local_stack
from tests.page.browser import ARGUMENTS, find_browser, install

_TURNS = 100
_WATCH = """
window.longest = 0;
new PerformanceObserver(list => list.getEntries().forEach(each => { longest = Math.max(longest, each.duration); }))
  .observe({type: "longtask", buffered: true});
const read = ReadableStreamDefaultReader.prototype.read;
ReadableStreamDefaultReader.prototype.read = async function (...given) {
  const found = await read.apply(this, given);
  if (typeof found.value === "string" && found.value.includes("event: text")) window.cameAt ??= performance.now();
  return found;
};
new MutationObserver(() => {
  if (window.cameAt && document.querySelector(".agent .text")?.textContent) {
    requestAnimationFrame(() => { window.shownAt ??= performance.now(); });
  }
}).observe(document, {childList: true, subtree: true, characterData: true});
"""


def main() -> int:
    """Prints the figures as a table. Returns 1 where no browser can be had."""
    model = ScriptedModel([{"text": "word " * 400, "pause_seconds": 0.02}])
    address: queue.Queue[str] = queue.Queue()
    with BedrockServer(model) as server, local_stack(Choices(), model_server=server) as stack:
        _fill(stack)
        measured: list[dict[str, Any]] = []

        def measure() -> None:
            try:
                measured.append(_measured(address.get()))
            except NodeError as error:
                print(error, file=sys.stderr)

        browser = threading.Thread(target=measure)
        browser.start()

        def wait(url: str) -> None:
            address.put(url)
            browser.join()

        serve(stack, Screen(sys.stderr), 0, [], wait)
    print("| the page | |\n| --- | ---: |")
    for figures in measured:
        for name, value in figures.items():
            print(f"| {name} | {value} |")
    return 0 if measured else 1


def _fill(stack: Stack) -> None:
    for number in range(1, _TURNS + 1):
        texts = {
            "session_id": "long",
            "status": "done",
            "question": f"Question {number}?",
            "created_at": "2026-12-01T00:00:00Z",
        }
        use = {"toolUse": {"toolUseId": "t", "name": "look_up", "input": {"number": number}}}
        result = {"toolResult": {"toolUseId": "t", "status": "success", "content": [{"text": "x" * 2000}]}}
        texts["messages"] = json.dumps(
            [
                {"role": "user", "content": [{"text": texts["question"]}]},
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [result]},
                {"role": "assistant", "content": [{"text": "word " * 400}]},
            ]
        )
        texts["response"] = json.dumps(
            {"answer": "word " * 400, "stop_reason": "end_turn", "steps": 2, "model_id": "m"}
        )
        item = {"turn": {"N": str(number)}, **{name: {"S": text} for name, text in texts.items()}}
        stack.sessions.put(item)


def _measured(url: str) -> dict[str, Any]:
    with sync_playwright() as playwright:
        install()
        browser = playwright.chromium.launch(executable_path=find_browser(playwright), args=ARGUMENTS)
        page = browser.new_page(bypass_csp=True)
        page.add_init_script(_WATCH)
        sizes = [len(page.request.get(url + path).body()) for path in ("/", "/page/page.js", "/page/page.css")]
        page.goto(url)
        first = _first_text(page)
        page.evaluate("longest = 0")
        page.goto(f"{url}/#sessions")
        page.fill("#find-id", "long")
        page.press("#find-id", "Enter")
        page.wait_for_selector(f"article:nth-of-type({_TURNS})")
        longest = page.evaluate("longest")
        browser.close()
    return {
        "weight, KB": round(sum(sizes) / 1000, 1),
        f"longest task while {_TURNS} turns are shown, ms (0: below 50)": round(longest),
        "first text on the screen after its event, ms": round(first, 1),
    }


def _first_text(page: Page) -> float:
    page.fill("#question", "q")
    page.press("#question", "Enter")
    page.wait_for_function("window.shownAt")
    return float(page.evaluate("shownAt - cameAt"))


if __name__ == "__main__":
    sys.exit(main())
