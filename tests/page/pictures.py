"""The pictures of the README, made anew by `.venv/bin/python -m pytest -q tests/page/pictures.py`."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from rich.console import Console
from rich.text import Text

from tests.page.conftest import Site

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page(site: Site, open_page: Callable[..., Page]) -> None:
    page = open_page(viewport={"width": 1000, "height": 660}, color_scheme="light")
    site.model.says(
        {"text": "I look it up.", "tool_use": {"name": "lookup_invoice", "input": {"invoice_id": "INV-1001"}}},
        {
            "text": "The invoice is open to the full amount, so I ask for the refund.",
            "tool_use": {
                "name": "refund_order",
                "input": {"order_id": "A-1001", "amount": 12800, "reason": "The headphones arrived broken."},
            },
        },
    )
    page.fill("#question", "The headphones of ticket T-1001 arrived broken. Pay them back.")
    page.press("#question", "Enter")
    expect(page.locator(".card")).to_be_visible()
    page.locator("#log").evaluate("log => { log.scrollTop = 0 }")
    page.screenshot(path=DOCS / "page.png")


def test_the_demo() -> None:
    command = [sys.executable, "-m", "local", "demo"]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "110"}
    shown = subprocess.run(command, cwd=DOCS.parent, env=environment, capture_output=True, text=True, check=True).stdout
    first = shown.partition("05-")[0]
    console = Console(record=True, width=110, file=io.StringIO())
    console.print(Text.from_ansi(f"$ make demo\n{first.rstrip()}\n…"))
    picture = console.export_svg(title="")
    # without fonts from elsewhere
    (DOCS / "demo.svg").write_text(re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL), encoding="utf-8")
