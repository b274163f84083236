"""GET /approvals: what waits, seen by those who may decide, a page at a time."""

import base64
import json
from itertools import chain
from typing import Any
from urllib.parse import quote

import pytest

from agent.edge.callers import caller_of
from agent.messages import user_text
from agent.ports import WAITING, StoredTurn
from agent.sessions.approvals import calls_by_id, utc
from agent.sessions.inbox import Inbox
from tests.agent.edge.gateway_events import MAKERS, Maker, http_api
from tests.agent.edge.test_edge_callers import jwt
from tests.agent.edge.whole_function import TABLE, unique
from tests.approvals.shop import ALICE, BOB, BOSS, EVE, OWNER, Shop
from tests.fakes import FakeClock, FakeStore, use


def page(shop: Shop, who: dict[str, Any], after: str = "", process: str = "decides", maker: Maker = http_api) -> Any:
    event = maker("GET", "/approvals", **who)
    if after:
        event["queryStringParameters"] = {"next": after}
    status, answer = shop.http(event, process)
    assert status == 200, answer
    assert answer.keys() <= {"approvals", "next"}
    return answer


def pages(shop: Shop, who: dict[str, Any], process: str = "decides") -> list[list[Any]]:
    answers = [page(shop, who, process=process)]
    while "next" in answers[-1]:
        assert len(answers) < 100
        answers.append(page(shop, who, answers[-1]["next"], process))
    return [answer["approvals"] for answer in answers]


def mine(found: list[list[Any]], shop: Shop) -> list[Any]:
    return [entry for entry in chain.from_iterable(found) if entry["session_id"] == shop.session]


@pytest.fixture
def who() -> dict[str, Any]:
    """A caller whom no other test knows."""
    return jwt(unique("caller"))


@pytest.mark.parametrize("maker", MAKERS)
def test_a_caller_sees_what_waits_in_the_own_sessions(shop: Shop, who: dict[str, Any], maker: Maker) -> None:
    assert page(shop, who, maker=maker) == {"approvals": []}
    asked = shop.wait(maker, **who)
    (entry,) = page(shop, who, maker=maker)["approvals"]
    item = shop.whole.items(f"{caller_of(who, 'session')}#{shop.session}")[0]
    assert entry == {
        **asked["approvals"][0],
        "session_id": shop.session,
        "caller": caller_of(who, "session"),
        "since": item["waiting_since"]["S"],
    }
    assert page(shop, EVE)["approvals"] == []


def test_what_is_decided_or_closed_is_seen_no_longer(shop: Shop, who: dict[str, Any]) -> None:
    shop.wait(**who)
    shop.approve(**who)
    assert page(shop, who)["approvals"] == []
    shop.ran.clear()
    shop.wait(**who)
    shop.whole.play({"text": "Sure."})
    shop.http(http_api(body={"question": "and?", "session_id": shop.session}, **who))
    assert page(shop, who)["approvals"] == []


@pytest.mark.parametrize("status", ["done", "blocked", "awaiting_approval"])
def test_an_entry_of_a_closed_turn_that_is_still_in_the_index_is_left_out(
    shop: Shop, who: dict[str, Any], status: str
) -> None:
    shop.wait(**who)
    shop.whole.put(f"{caller_of(who, 'session')}#{shop.session}", 2, status={"S": status})
    assert page(shop, who)["approvals"] == []


def test_a_turn_that_a_question_is_overtaking_still_waits(shop: Shop, who: dict[str, Any]) -> None:
    shop.wait(**who)
    shop.whole.put(f"{caller_of(who, 'session')}#{shop.session}", 2, status={"S": "running"})
    assert len(page(shop, who)["approvals"]) == 1


def test_what_was_half_decided_is_seen_by_its_rest(shop: Shop, who: dict[str, Any]) -> None:
    first, second = shop.wait_for(use("t1", "refund", {"order": "1"}), use("t2", "refund", {"order": "2"}), **who)
    assert len(page(shop, who)["approvals"]) == 2
    shop.approve(body={"approvals": {first["approval_id"]: False}}, **who)
    assert [entry["approval_id"] for entry in page(shop, who)["approvals"]] == [second["approval_id"]]


def test_what_is_past_its_time_is_left_out(shop: Shop, who: dict[str, Any]) -> None:
    shop.wait(**who)
    key = f"{caller_of(who, 'session')}#{shop.session}"
    (item,) = shop.whole.items(key)
    response = json.loads(item["response"]["S"])
    response["approvals"][0]["expires_at"] = utc(0)
    shop.whole.dynamodb.put_item(TableName=TABLE, Item={**item, "response": {"S": json.dumps(response)}})
    assert page(shop, who)["approvals"] == []


def test_what_was_edited_while_it_waits_is_left_out(shop: Shop, who: dict[str, Any]) -> None:
    shop.wait(**who)
    (item,) = shop.whole.items(f"{caller_of(who, 'session')}#{shop.session}")
    edited = {"S": item["messages"]["S"].replace('"7"', '"7777"')}
    shop.whole.dynamodb.put_item(TableName=TABLE, Item={**item, "messages": edited})
    assert page(shop, who)["approvals"] == []


def test_an_approver_sees_everything_and_decides_with_what_is_listed(shop: Shop) -> None:
    shop.wait(**ALICE)
    (entry,) = mine(pages(shop, BOB, "approves"), shop)
    assert (entry["caller"], entry["input"]) == (OWNER, {"order": "7"})
    body = {"approvals": {entry["approval_id"]: True}, "caller": entry["caller"]}
    assert shop.approve(body=body, process="approves", **BOB)[0] == 200
    assert shop.ran == ["7"]


def test_an_approver_sees_what_direct_and_anonymous_callers_wait_for(shop: Shop) -> None:
    shop.wait_directly()
    (entry,) = mine(pages(shop, BOB, "approves"), shop)
    assert entry["caller"] == "direct"
    other = unique()
    shop.session = other
    shop.wait()
    (entry,) = mine(pages(shop, BOB, "approves"), shop)
    assert entry["caller"] == "anonymous"


def test_where_approvers_are_named_others_see_nothing_not_even_their_own(shop: Shop) -> None:
    shop.wait(**ALICE)
    shop.calls.clear()
    assert page(shop, ALICE, process="approves") == {"approvals": []}
    assert page(shop, EVE, process="approves") == {"approvals": []}
    assert shop.calls == []


@pytest.mark.parametrize("process", ["decides", "approves", "approves for anonymous"])
def test_callers_without_an_authorizer_see_nothing(shop: Shop, process: str) -> None:
    shop.wait()
    assert page(shop, {}, process=process) == {"approvals": []}


def put_waiting(shop: Shop, caller: str, number: int, template: dict[str, Any]) -> None:
    """Another session that waits, since an older time for a smaller number."""
    key = {"session_id": {"S": f"{caller}#{shop.session}-{number:03}"}, "waiting": {"S": caller}}
    since = {"S": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"}
    shop.whole.dynamodb.put_item(TableName=TABLE, Item={**template, **key, "waiting_since": since})


def template_of(shop: Shop, who: dict[str, Any]) -> dict[str, Any]:
    """An item that waits, taken out again."""
    shop.wait(**who)
    (item,) = shop.whole.items(f"{caller_of(who, 'session')}#{shop.session}")
    shop.whole.dynamodb.delete_item(TableName=TABLE, Key={name: item[name] for name in ("session_id", "turn")})
    return dict(item)


@pytest.mark.parametrize(("number", "sizes"), [(20, [20]), (21, [20, 1]), (45, [20, 20, 5])])
def test_a_page_holds_twenty_turns_oldest_first(shop: Shop, who: dict[str, Any], number: int, sizes: list[int]) -> None:
    template, caller = template_of(shop, who), caller_of(who, "session")
    for each in reversed(range(number)):
        put_waiting(shop, caller, each, template)
    found = pages(shop, who)
    assert [len(each) for each in found] == sizes
    names = [entry["session_id"] for each in found for entry in each]
    assert names == [f"{shop.session}-{each:03}" for each in range(number)]


def test_a_page_looks_at_fifty_entries_and_may_be_empty_and_go_on(shop: Shop, who: dict[str, Any]) -> None:
    template, caller = template_of(shop, who), caller_of(who, "session")
    for each in range(60):
        gone = {**template, "messages": {"S": "[]"}} if each < 55 else template
        put_waiting(shop, caller, each, gone)
    first, second = pages(shop, who)
    assert (first, len(second)) == ([], 5)


def test_a_page_ends_before_it_is_too_large() -> None:
    order = "あ" * 80_000
    messages: list[Any] = [user_text("q"), {"role": "assistant", "content": [use("t1", "refund", {"order": order})]}]
    (name,) = calls_by_id(messages, "5" * 32, 1)
    response = {"steps": 1, "approvals": [{"approval_id": name, "expires_at": "2030-01-01T00:00:00Z"}]}
    kept: dict[str, Any] = {"random": "5" * 32, "waiting": "direct", "messages": messages, "response": response}
    store = FakeStore(StoredTurn(f"s{n:02}", 1, WAITING, waiting_since=utc(n), **kept) for n in range(25))
    inbox, found, after = Inbox(store, FakeClock()), list[list[str]](), ""
    while after or not found:
        answer = inbox.page("direct", after)
        assert len(json.dumps(answer, ensure_ascii=False).encode()) < 2_600_000
        found.append([entry["session_id"] for entry in answer["approvals"]])
        after = answer.get("next", "")
    assert [len(each) for each in found] == [10, 10, 5]
    assert list(chain.from_iterable(found)) == [f"s{n:02}" for n in range(25)]


def test_an_approver_gets_every_entry_once_over_all_pages(shop: Shop, who: dict[str, Any]) -> None:
    template = template_of(shop, who)
    callers = [f"{number:032x}" for number in range(3)]
    for each in range(60):
        put_waiting(shop, callers[each % 3], each, template)
    names = [entry["session_id"] for each in pages(shop, BOB, "approves") for entry in each]
    ours = sorted(name for name in names if name.startswith(f"{shop.session}-"))
    assert ours == [f"{shop.session}-{each:03}" for each in range(60)]
    for each in range(60):
        key = {"session_id": {"S": f"{callers[each % 3]}#{shop.session}-{each:03}"}, "turn": {"N": "1"}}
        shop.whole.dynamodb.delete_item(TableName=TABLE, Key=key)


def written(**changes: Any) -> str:
    key = {"session_id": "a#b", "turn": 1, "waiting": OWNER, "waiting_since": "2026-12-01T00:00:00Z"} | changes
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


NOT_OURS = [
    "x",
    "!!!!",
    "eyJ9",
    "e30",
    base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    base64.urlsafe_b64encode(b"[" * 100_000).decode(),
    written(turn="1"),
    written(turn=0),
    written(turn=10**20),
    written(turn=1.5),
    written(session_id=""),
    written(session_id="x" * 5_000),
    written(session_id=None),
    written(waiting=""),
    written(waiting_since=""),
    written(waiting_since=5),
    written(waiting="another"),
    written(waiting=BOSS),
]


@pytest.mark.parametrize("after", NOT_OURS, ids=lambda text: text[:20])
def test_a_next_that_is_not_ours_is_refused(shop: Shop, after: str) -> None:
    event = http_api("GET", "/approvals", **ALICE)
    event["queryStringParameters"] = {"next": after}
    status, answer = shop.http(event)
    assert (status, answer["error"]["code"]) == (400, "invalid_request")
    assert "next" in answer["error"]["message"]


@pytest.mark.parametrize("process", ["decides", "approves"])
@pytest.mark.parametrize("after", ["x", written(turn=0), written(waiting=BOSS)], ids=lambda text: text[:20])
def test_a_next_that_is_not_ours_is_refused_to_who_sees_nothing_too(shop: Shop, after: str, process: str) -> None:
    event = http_api("GET", "/approvals")
    event["queryStringParameters"] = {"next": after}
    assert shop.http(event, process)[0] == 400


def test_a_next_of_the_own_partition_may_be_of_an_entry_that_is_gone(shop: Shop) -> None:
    assert page(shop, ALICE, written())["approvals"] is not None
    assert page(shop, BOB, written(), "approves")["approvals"] is not None


def test_the_listing_is_only_read(shop: Shop) -> None:
    response, _ = shop.call(http_api("POST", "/approvals", {}, **ALICE))
    assert response["statusCode"] == 405
    assert set(response["headers"]["allow"].split(", ")) == {"GET", "OPTIONS"}


def test_an_id_with_signs_of_a_path_is_found_again(shop: Shop, who: dict[str, Any]) -> None:
    shop.session = unique("a.b:c@d-")
    shop.wait(**who)
    (entry,) = page(shop, who)["approvals"]
    assert entry["session_id"] == shop.session
    _, shown = shop.http(http_api("GET", f"/sessions/{quote(entry['session_id'])}", **who))
    assert shown["turns"][0]["approvals"][0]["approval_id"] == entry["approval_id"]
