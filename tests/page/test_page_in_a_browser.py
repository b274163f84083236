"""The page in a real browser, over the function itself: what a person sees, and what can't be made to run."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.browser import AXE
from tests.page.conftest import Site

pytestmark = pytest.mark.slow
EVIL = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
TRICKS = f"{EVIL} \u202egnp.exe\u2069 \x1b[2J a\u200bb \ud800"
REFUND = {"name": "refund_order", "input": {"order_id": "A-1001", "amount": 12800, "reason": "broken"}}
ASKS = {"text": "I ask.", "tool_use": REFUND}


def ask(page: Page, question: str) -> None:
    page.fill("#question", question)
    page.press("#question", "Enter")


def fresh() -> str:
    return f"s-{time.monotonic_ns()}"


def test_an_answer_comes_as_it_is_written_with_its_tools_tokens_and_cost(
    site: Site, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    site.model.says(
        {"text": "Let me look.", "tool_use": {"name": "lookup_invoice", "input": {"invoice_id": "INV-1001"}}},
        {"text": "It is open."},
    )
    ask(page, "Is INV-1001 open?")
    answer = page.locator(".agent").last
    expect(answer.locator(".text").first).to_have_text("It is open.")
    expect(answer.locator(".tool")).to_contain_text("lookup_invoice · success")
    expect(answer).to_contain_text("2 steps")
    expect(answer).to_contain_text("$0.0")


def test_a_refund_is_approved_on_the_page_with_a_reason(site: Site, open_page: Callable[..., Page]) -> None:
    page = open_page()
    site.model.says(ASKS, {"text": "Refunded."})
    ask(page, "Refund A-1001")
    card = page.locator(".card").last
    expect(card).to_contain_text("refund_order")
    expect(card).to_contain_text("12800")
    card.get_by_label("Reason").fill("photo seen")
    card.get_by_role("button", name="Yes, run it").click()
    expect(page.locator(".agent").last).to_contain_text("Refunded.")
    expect(card).to_contain_text("approved")


def test_the_inbox_shows_what_waits_and_takes_a_no(site: Site, open_page: Callable[..., Page]) -> None:
    site.model.says(ASKS, {"text": "Then not."})
    asked = fresh()
    _, succeeded = site.stack.invoke({"question": "Refund A-1001", "session_id": asked})
    assert succeeded
    page = open_page()
    expect(page.locator("#waiting")).to_have_text("1")
    page.click("a[href='#approvals']")
    card = page.locator("#inbox .card")
    expect(card).to_contain_text(asked)
    card.get_by_role("button", name="No").click()
    expect(card).to_contain_text("Then not.")
    expect(page.locator("#waiting")).to_be_hidden()


def test_a_session_is_read_unfolded_and_forgotten(site: Site, open_page: Callable[..., Page]) -> None:
    site.model.says({"tool_use": {"name": "lookup_invoice", "input": {"invoice_id": "INV-1001"}}}, {"text": "Open."})
    kept = fresh()
    site.stack.invoke({"question": "Is it open?", "session_id": kept})
    page = open_page()
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("a[href='#sessions']")
    page.get_by_role("button", name=kept).click()
    turn = page.locator("#turns article")
    expect(turn).to_have_count(1)
    turn.get_by_text("Step 1: lookup_invoice").click()
    expect(turn).to_contain_text("INV-1001")
    expect(turn).to_contain_text("Result")
    turn.get_by_text("What the model was sent").click()
    expect(turn).to_contain_text("toolConfig")
    page.get_by_role("button", name="Forget").click()
    expect(page.locator("#turns article")).to_have_count(0)
    assert site.stack.sessions.items(kept) == []


def test_what_anybody_says_is_text_and_nothing_runs(site: Site, open_page: Callable[..., Page]) -> None:
    page = open_page()
    evil_use = {"name": "lookup_invoice", "input": {"invoice_id": TRICKS}}
    site.model.says({"text": TRICKS, "tool_use": evil_use}, {"text": TRICKS})
    ask(page, EVIL)
    answer = page.locator(".agent").last
    expect(answer).to_contain_text("<script>")
    expect(answer).to_contain_text("‹U+202E›gnp.exe‹U+2069›")
    expect(answer).to_contain_text("‹U+001B›[2J a‹U+200B›b")
    page.click("a[href='#sessions']")
    page.locator("#list button").first.click()
    page.get_by_text("Step 1: lookup_invoice").click()
    expect(page.locator("#turns")).to_contain_text("onerror")
    assert page.evaluate("window.hit") is None
    assert page.locator("main img, main script").count() == 0


def test_an_item_that_was_edited_shows_as_text(site: Site, open_page: Callable[..., Page]) -> None:
    kept = fresh()
    site.model.says({"text": "Fine."})
    site.stack.invoke({"question": "q", "session_id": kept})
    [item] = site.stack.sessions.items(kept)
    response = {**json.loads(item["response"]["S"]), "model_id": EVIL, "stop_reason": EVIL}
    edited = {**item, "question": {"S": EVIL}, "response": {"S": json.dumps(response)}, "created_at": {"S": EVIL}}
    site.stack.sessions.put(edited)
    page = open_page()
    page.goto(f"{site.url}/#sessions")
    page.fill("#find-id", kept)
    page.press("#find-id", "Enter")
    expect(page.locator("#turns article")).to_contain_text("<img src=x")
    assert page.evaluate("window.hit") is None


def test_a_text_of_a_million_characters_is_shown_in_parts(site: Site, open_page: Callable[..., Page]) -> None:
    kept = fresh()
    site.model.says({"text": "x" * 300_000})
    site.stack.invoke({"question": "q", "session_id": kept})
    page = open_page()
    page.goto(f"{site.url}/#sessions")
    page.fill("#find-id", kept)
    page.press("#find-id", "Enter")
    page.get_by_role("button", name="Show the rest").first.click()
    expect(page.locator("#turns article").get_by_role("button", name="Show the rest")).to_have_count(1)


def test_it_speaks_japanese_and_remembers_that(open_page: Callable[..., Page]) -> None:
    page = open_page(locale="ja-JP")
    expect(page.locator("#send")).to_have_text("送信")
    assert page.evaluate("document.documentElement.lang") == "ja"
    page.click("#language")
    expect(page.locator("#send")).to_have_text("Send")
    page.reload()
    expect(page.locator("#send")).to_have_text("Send")


def test_every_text_stands_in_both_languages(open_page: Callable[..., Page]) -> None:
    page = open_page()
    assert page.evaluate("Object.keys(TEXTS.en).sort().join() === Object.keys(TEXTS.ja).sort().join()")


def test_it_works_by_keyboard_alone(site: Site, open_page: Callable[..., Page]) -> None:
    page = open_page()
    site.model.says({"text": "Typed."})
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type("hello")
    page.keyboard.press("Enter")
    expect(page.locator(".agent").last).to_contain_text("Typed.")
    expect(page.locator("#question")).to_be_focused()
    for _ in range(20):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.hash") == "#settings":
            break
    page.keyboard.press("Enter")
    expect(page.locator("#in-force")).to_contain_text("MODEL_ID")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_axe_finds_nothing_serious_and_nothing_is_wider_than_the_screen(
    site: Site, open_page: Callable[..., Page], scheme: str, width: int
) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True)
    site.model.says(ASKS)
    ask(page, "Refund A-1001 " + "x" * 200)
    expect(page.locator(".card")).to_be_visible()
    page.add_script_tag(path=str(AXE))
    for view in ("chat", "sessions", "approvals", "settings"):
        page.click(f"nav a[href='#{view}']")
        page.wait_for_load_state("networkidle")
        found = page.evaluate("axe.run().then((told) => told.violations)")
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == [], (view, found)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


def test_a_stream_that_breaks_off_is_told_and_asked_again_under_its_own_id(
    site: Site, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    asked: list[dict[str, Any]] = []

    def broken(route: Any) -> None:
        asked.append(route.request.post_data_json)
        if len(asked) > 1:
            route.continue_()
            return
        start = {"session_id": "broken", "request_id": asked[0]["request_id"], "turn": 1}
        body = f"event: start\ndata: {json.dumps(start)}\n\n"
        route.fulfill(status=200, headers={"content-type": "text/event-stream"}, body=body)

    page.route("**/page/chat", broken)
    site.model.says({"text": "Here it is."})
    ask(page, "q")
    expect(page.locator("#problem")).to_contain_text("The connection broke")
    page.click("#send")
    expect(page.locator(".agent").last).to_contain_text("Here it is.")
    assert asked[0]["request_id"] == asked[1]["request_id"]


def test_a_refusal_is_told_where_it_can_be_read(site: Site, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto(f"{site.url}/#sessions")
    page.fill("#find-id", "a b")
    page.press("#find-id", "Enter")
    site.model.says({"error": "AccessDeniedException"})
    page.click("a[href='#chat']")
    ask(page, "q")
    expect(page.get_by_role("alert")).to_contain_text("misconfigured: ")
