"""A support desk: read freely, pay back only with a person's yes. The worked example of a tool that needs approval.

Without TICKETS_TABLE it works on sample records in memory. The table has the partition key `id` (S), an item for each of
`ticket#T-1001`, `order#A-1001` (with `invoice_id`) and `invoice#INV-1001` (with `amount`, whole yen).
"""

import functools
import logging
import os
import re
import threading
from collections.abc import Mapping
from typing import Annotated, Any, Protocol

from agent.aws.client import AWS
from agent.aws.errors import CallError, ServiceError
from agent.deadline import Deadline
from agent.errors import ToolError
from agent.tooling.tool import ToolContext, tool

Record = Mapping[str, str | int]

_SECONDS = 3.0  # of one attempt
_LOGGER = logging.getLogger(__name__)
# A refund is an attribute of its invoice, so that one conditional write both bounds the sum and records it once.
_REFUND = "refund#"
_SAMPLES: tuple[Record, ...] = (
    {"id": "ticket#T-1001", "status": "open", "subject": "Headphones arrived broken", "order_id": "A-1001"},
    {"id": "ticket#T-1002", "status": "closed", "subject": "Where is my parcel?", "order_id": "A-1002"},
    {"id": "order#A-1001", "invoice_id": "INV-1001"},
    {"id": "order#A-1002", "invoice_id": "INV-1002"},
    {"id": "invoice#INV-1001", "order_id": "A-1001", "amount": 12_800, "issued": "2026-01-15"},
    {"id": "invoice#INV-1002", "order_id": "A-1002", "amount": 3_980, "issued": "2026-02-03"},
)


@tool
def ticket_status(ticket_id: Annotated[str, "id of the ticket, such as T-1001"]) -> Record:
    """Look up a support ticket: its status, its subject and the order that it is about."""
    return _found(_records(), "ticket", ticket_id)


@tool
def lookup_invoice(invoice_id: Annotated[str, "id of the invoice, such as INV-1001"]) -> Record:
    """Look up an invoice: its order, its amount and what of it was refunded, both in yen."""
    invoice = _found(_records(), "invoice", invoice_id)
    return {"refunded": 0, **{name: value for name, value in invoice.items() if not name.startswith(_REFUND)}}


@tool(needs_approval=True)
def refund_order(
    order_id: Annotated[str, "id of the order, such as A-1001"],
    amount: Annotated[int, "how much to pay back, in yen"],
    reason: Annotated[str, "why, in a sentence that the one who approves can judge by"],
    context: ToolContext,
) -> Record:
    """Pay back an order, in whole or in part. A person is asked before it is done."""
    # a model's ids repeat in other sessions
    key = f"{_REFUND}{context.caller}#{context.session_id}#{context.tool_use_id}"
    return refund(_records(), order_id, amount, reason, key)


class Records(Protocol):
    """The support desk's store. Each raises ToolError where it can't be reached."""

    def get(self, key: str) -> Record | None:
        """The record, as it is now."""

    def add_refund(self, invoice: str, key: str, entry: str, amount: int, rest: int) -> bool:
        """Writes the entry and adds the amount, unless the key is there or more than `rest` was refunded; whether it did."""


def refund(records: Records, order_id: str, amount: int, reason: str, key: str) -> Record:
    """Records a refund under its key, once. Raises ToolError where it is not for this order or above what is left of it."""
    if amount <= 0 or not reason.strip():
        raise ToolError("A refund needs an amount above 0 and a reason.")
    order = _found(records, "order", order_id)
    invoice = _found(records, "invoice", str(order["invoice_id"]))
    most, entry = int(invoice["amount"]), f"{amount} yen: {reason.strip()}"
    # not written: it was before (a repeated call, or a write whose answer was lost), or it is too much
    if amount > most or not records.add_refund(f"invoice#{invoice['invoice_id']}", key, entry, amount, most - amount):
        invoice = _found(records, "invoice", str(order["invoice_id"]))
        if invoice.get(key) != entry:
            left = most - int(invoice.get("refunded", 0))
            raise ToolError(f"Not refunded: {left} of the {most} yen of {order['order_id']} can still be paid back.")
    return {"order_id": order["order_id"], "invoice_id": invoice["invoice_id"], "amount": amount, "status": "refunded"}


class MemoryRecords:
    """Records that last as long as the process."""

    def __init__(self, records: tuple[Record, ...] = _SAMPLES) -> None:
        self._records: dict[str, dict[str, str | int]] = {str(each["id"]): dict(each) for each in records}
        self._lock = threading.Lock()

    def get(self, key: str) -> Record | None:
        """See Records."""
        with self._lock:
            return dict(self._records[key]) if key in self._records else None

    def add_refund(self, invoice: str, key: str, entry: str, amount: int, rest: int) -> bool:
        """See Records."""
        with self._lock:
            record = self._records[invoice]
            refunded = int(record.get("refunded", 0))
            if key in record or refunded > rest:
                return False
            record |= {key: entry, "refunded": refunded + amount}
            return True


class TableRecords:
    """Records in a DynamoDB table."""

    def __init__(self, client: Any, table: str) -> None:
        """`client` is a signed client of DynamoDB."""
        self._client = client
        self._table = table

    def get(self, key: str) -> Record | None:
        """See Records."""
        try:
            answer = self._call("GetItem", {"Key": {"id": {"S": key}}, "ConsistentRead": True})
        except CallError as error:
            _log(error)
            raise ToolError("The support desk can't be reached at the moment.") from error
        return {name: _plain(value) for name, value in answer["Item"].items()} if "Item" in answer else None

    def add_refund(self, invoice: str, key: str, entry: str, amount: int, rest: int) -> bool:
        """See Records."""
        update = {
            "Key": {"id": {"S": invoice}},
            "UpdateExpression": "SET #key = :entry ADD refunded :amount",
            "ConditionExpression": "attribute_exists(id) AND attribute_not_exists(#key) AND "
            "(attribute_not_exists(refunded) OR refunded <= :rest)",
            "ExpressionAttributeNames": {"#key": key},
            "ExpressionAttributeValues": {
                ":entry": {"S": entry},
                ":amount": {"N": str(amount)},
                ":rest": {"N": str(rest)},
            },
        }
        try:
            self._call("UpdateItem", update)
        except CallError as error:
            if isinstance(error, ServiceError) and error.code == "ConditionalCheckFailedException":
                return False
            _log(error)
            raise ToolError(
                "It is not known whether the refund was made. Look the invoice up before anything else."
            ) from error
        return True

    def _call(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Two attempts, since every call may be repeated: a refund has its key."""
        for attempt in (1, 2):
            try:
                answer: dict[str, Any] = self._client.call(
                    operation, {"TableName": self._table, **parameters}, Deadline.after(_SECONDS)
                )
                return answer
            except CallError as error:
                refused = isinstance(error, ServiceError) and error.status < 500
                if refused or attempt == 2:
                    raise
        raise AssertionError


def _found(records: Records, kind: str, name: str) -> Record:
    name = name.strip().upper()
    record = records.get(f"{kind}#{name}") if re.fullmatch(r"[A-Z0-9-]{1,64}", name) else None
    if record is None:
        raise ToolError(f"There is no {kind} with the id {name[:64]!r}.")
    return {f"{kind}_id": name, **{key: value for key, value in record.items() if key != "id"}}


def _plain(value: dict[str, str]) -> str | int:
    return int(value["N"]) if "N" in value else value.get("S", "")


def _log(error: Exception) -> None:
    _LOGGER.error("the table of the tickets tool failed", extra={"error.type": type(error).__name__})


def _records() -> Records:
    name = os.environ.get("TICKETS_TABLE", "").strip()
    return _table(name) if name else _sample()


@functools.cache
def _sample() -> MemoryRecords:
    return MemoryRecords()


@functools.cache
def _table(name: str) -> TableRecords:
    return TableRecords(AWS(os.environ).client("dynamodb"), name)
