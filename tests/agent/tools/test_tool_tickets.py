"""The support desk: read by anyone, paid back only after a yes, once, and never more than the invoice."""

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from moto import mock_aws

from agent.aws.client import AWS
from agent.aws.errors import ConnectionFailedError, ServiceError, TimedOutError
from agent.deadline import Deadline
from agent.errors import ToolError
from agent.tooling.offered import load_tools
from agent.tooling.tool import ToolContext
from agent.tools import tickets
from agent.tools.tickets import MemoryRecords, Record, Records, TableRecords, refund
from infra.config import SETTINGS
from infra.declared import declared
from local.aws_server import AWSServer
from tests.agent.edge.whole_function import least_environment

_TABLE = "tickets-of-a-test"
_RECORDS: tuple[Record, ...] = (
    {"id": "ticket#T-1", "status": "open", "subject": "壊れていた"},
    {"id": "order#A-1", "invoice_id": "INV-1"},
    {"id": "invoice#INV-1", "order_id": "A-1", "amount": 1000},
)


def _new_table(client: Any, records: tuple[Record, ...]) -> None:
    client.create_table(
        TableName=_TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for record in records:
        item = {name: {"N": str(v)} if isinstance(v, int) else {"S": v} for name, v in record.items()}
        client.put_item(TableName=_TABLE, Item=item)


@pytest.fixture(params=["memory", "table"])
def records(request: pytest.FixtureRequest) -> Iterator[Records]:
    """The records, in either store."""
    if request.param == "memory":
        yield MemoryRecords(_RECORDS)
        return
    with mock_aws(), AWSServer() as server:
        _new_table(botocore.session.get_session().create_client("dynamodb"), _RECORDS)
        yield TableRecords(AWS(least_environment(AWS_ENDPOINT_URL=server.url)).client("dynamodb"), _TABLE)


def _invoice(records: Records) -> Record:
    invoice = records.get("invoice#INV-1")
    assert invoice
    return invoice


def _context(tool_use_id: str, session: str = "s", caller: str = "") -> ToolContext:
    return ToolContext(session, caller, tool_use_id, Deadline.after(20), logging.getLogger("tests"))


def test_a_refund_is_written_into_its_invoice_with_its_reason(records: Records) -> None:
    answer = refund(records, " a-1", 400, "arrived broken", "refund#1")
    assert answer == {"order_id": "A-1", "invoice_id": "INV-1", "amount": 400, "status": "refunded"}
    assert _invoice(records) == {
        **_RECORDS[2],
        "refunded": 400,
        "refund#1": "400 yen: arrived broken",
    }


def test_a_refund_that_is_asked_for_again_is_made_once(records: Records) -> None:
    first = refund(records, "A-1", 400, "arrived broken", "refund#1")
    assert refund(records, "A-1", 400, "arrived broken", "refund#1") == first
    assert _invoice(records)["refunded"] == 400


def test_another_refund_under_the_same_key_is_refused(records: Records) -> None:
    refund(records, "A-1", 400, "arrived broken", "refund#1")
    with pytest.raises(ToolError, match="Not refunded"):
        refund(records, "A-1", 500, "arrived broken", "refund#1")
    assert _invoice(records)["refunded"] == 400


def test_refunds_never_exceed_the_invoice(records: Records) -> None:
    refund(records, "A-1", 600, "a", "refund#1")
    with pytest.raises(ToolError, match="400 of the 1000 yen of A-1"):
        refund(records, "A-1", 401, "b", "refund#2")
    refund(records, "A-1", 400, "c", "refund#3")
    with pytest.raises(ToolError, match="0 of the 1000 yen of A-1"):
        refund(records, "A-1", 1, "d", "refund#4")
    assert _invoice(records)["refunded"] == 1000


def test_refunds_at_the_same_time_never_exceed_the_invoice() -> None:
    records = MemoryRecords(_RECORDS)
    refused: list[str] = []

    def ask(number: int) -> None:
        try:
            refund(records, "A-1", 300, "a", f"refund#{number}")
        except ToolError as error:
            refused.append(error.message)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 5
    assert _invoice(records)["refunded"] == 900


@pytest.mark.parametrize(
    ("order", "amount", "reason", "told"),
    [
        ("A-1", 0, "a", "above 0"),
        ("A-1", -5, "a", "above 0"),
        ("A-1", 5, " ", "a reason"),
        ("A-1", 10**40, "a", "Not refunded: 1000"),
        ("A-9", 5, "a", "no order with the id 'A-9'"),
        ("T-1", 5, "a", "no order"),
        ("", 5, "a", "no order"),
        ("A-1#x" * 1000, 5, "a", "no order"),
    ],
)
def test_a_refund_that_makes_no_sense_is_refused(
    records: Records, order: str, amount: int, reason: str, told: str
) -> None:
    with pytest.raises(ToolError, match=told) as raised:
        refund(records, order, amount, reason, "refund#1")
    assert len(raised.value.message) < 200
    assert _invoice(records) == _RECORDS[2]


def test_only_reading_needs_no_approval() -> None:
    assert [each.name for each in load_tools(("tickets",), Path()) if each.needs_approval is True] == ["refund_order"]
    assert [each.name for each in load_tools(("tickets",), Path()) if each.side_effects] == ["refund_order"]
    assert tickets.refund_order.waits({"order_id": "A-1001", "amount": 1, "reason": "a"})


def test_without_a_table_the_tools_work_on_samples() -> None:
    ticket = tickets.ticket_status("T-1001")
    assert (ticket["ticket_id"], ticket["status"], ticket["order_id"]) == ("T-1001", "open", "A-1001")
    invoice = tickets.lookup_invoice("inv-1001")
    assert (invoice["invoice_id"], invoice["amount"], invoice["refunded"]) == ("INV-1001", 12_800, 0)
    with pytest.raises(ToolError, match="no ticket with the id 'T-9999'"):
        tickets.ticket_status("T-9999")


def test_refunds_of_the_same_id_in_other_sessions_are_others() -> None:
    contexts = [_context("t1"), _context("t1"), _context("t1", "other"), _context("t1", "s", "caller"), _context("t2")]
    for context in contexts:
        tickets.refund_order("A-1002", 100, "late", context)
    invoice = tickets.lookup_invoice("INV-1002")
    assert invoice["refunded"] == 400
    assert not [name for name in invoice if "#" in name]


def test_with_a_table_the_tools_work_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKETS_TABLE", _TABLE)
    with mock_aws(), AWSServer() as server:
        _new_table(botocore.session.get_session().create_client("dynamodb"), _RECORDS)
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        tickets.refund_order("A-1", 250, "late", _context("t1"))
        tickets.refund_order("A-1", 250, "late", _context("t1"))
        assert tickets.lookup_invoice("INV-1") == {
            "invoice_id": "INV-1",
            "order_id": "A-1",
            "amount": 1000,
            "refunded": 250,
        }
        assert tickets.ticket_status("T-1")["subject"] == "壊れていた"


class _Failing:
    """A client whose calls fail."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure
        self.calls = 0

    def call(self, operation: str, parameters: dict[str, Any], deadline: Deadline) -> Any:
        self.calls += 1
        raise self._failure


@pytest.mark.parametrize(
    ("failure", "attempts"),
    [
        (ConnectionFailedError("no connection"), 2),
        (TimedOutError("too late"), 2),
        (ServiceError(500, "InternalServerError", "sorry"), 2),
        (ServiceError(400, "ResourceNotFoundException", "arn:aws:x"), 1),
    ],
)
def test_a_store_that_cannot_be_reached_is_an_error_and_tells_the_log_why(
    failure: Exception, attempts: int, caplog: pytest.LogCaptureFixture
) -> None:
    client = _Failing(failure)
    failing = TableRecords(client, _TABLE)
    with pytest.raises(ToolError, match="can't be reached") as read:
        failing.get("ticket#T-1")
    with pytest.raises(ToolError, match="not known whether the refund was made") as written:
        failing.add_refund("invoice#INV-1", "refund#1", "1 yen: a", 1, 999)
    assert "arn" not in read.value.message + written.value.message
    assert [vars(record)["error.type"] for record in caplog.records] == [type(failure).__name__] * 2
    assert client.calls == 2 * attempts


def test_the_deployed_function_may_do_what_the_tool_does_and_no_more() -> None:
    needs = declared([Path(str(tickets.__file__))], SETTINGS)["tickets"]
    assert [each.actions for each in needs.permissions] == [("dynamodb:GetItem", "dynamodb:UpdateItem")]
    assert list(needs.environment) == ["TICKETS_TABLE"]
