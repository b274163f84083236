"""Secrets of tools: of their own module alone, read at first use within the tool's time, kept for five minutes, never shown."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.deadline import Deadline
from agent.errors import MisconfiguredError, StorageUnavailableError, ToolError
from agent.ports import ToolCall, ToolRecord
from agent.tooling.offered import load_tools
from agent.tooling.tool import ToolContext, tool
from agent.tooling.tool_secrets import Vault, declared_secrets
from agent.tooling.toolbox import Toolbox, ToolLimits
from tests.agent.turn.turns import text_of, tool_context

DECLARED = {"orders": {"ORDERS_KEY": "orders/key", "ORDERS_SALT": "orders/salt"}, "mail": {"MAIL_KEY": "mail/key"}}
ENDS = Deadline.after(20)


class FakeStore:
    """A SecretStore with a text for every name, that counts what is read."""

    def __init__(self) -> None:
        self.read_names: list[str] = []
        self.deadlines: list[Deadline] = []
        self.failure: Exception | None = None

    def read(self, name: str, deadline: Deadline) -> str:
        """See SecretStore."""
        self.read_names.append(name)
        self.deadlines.append(deadline)
        if self.failure:
            raise self.failure
        return f" text {len(self.read_names)} of {name}\n"


class Told:
    """What the log was told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, object]]] = []

    def __call__(self, message: str, **fields: object) -> None:
        self.lines.append((message, fields))


def vault(store: FakeStore, environment: Mapping[str, str] | None = None, *, told: Told | None = None) -> Vault:
    return Vault(DECLARED, environment or {}, store, told or Told())


def test_a_secret_is_its_text_as_it_stands_read_at_its_first_use_before_the_tools_deadline() -> None:
    store = FakeStore()
    secrets = vault(store).of("orders", ENDS)
    assert store.read_names == []
    assert secrets["ORDERS_KEY"] == " text 1 of orders/key\n"
    assert (store.read_names, store.deadlines) == (["orders/key"], [ENDS])


def test_a_module_has_its_own_secrets_alone() -> None:
    store = FakeStore()
    of = vault(store).of
    assert list(of("orders", ENDS)) == ["ORDERS_KEY", "ORDERS_SALT"]
    assert "MAIL_KEY" not in of("orders", ENDS)
    assert of("orders", ENDS).get("MAIL_KEY") is None
    with pytest.raises(KeyError, match="MAIL_KEY"):
        of("orders", ENDS)["MAIL_KEY"]
    assert len(of("agenda", ENDS)) == 0
    assert store.read_names == []


@pytest.mark.parametrize(("value", "reads"), [("from a laptop", 0), ("", 1)])
def test_a_variable_of_its_name_is_the_secret(value: str, reads: int) -> None:
    store = FakeStore()
    secret = vault(store, {"ORDERS_KEY": value}).of("orders", ENDS)["ORDERS_KEY"]
    assert secret == (value or " text 1 of orders/key\n")
    assert len(store.read_names) == reads


def test_the_repr_shows_names_only_of_the_context_too() -> None:
    secrets = vault(FakeStore(), {"ORDERS_KEY": "SECRET"}).of("orders", ENDS)
    assert secrets["ORDERS_KEY"] == "SECRET"
    context = ToolContext("s", "", "t1", ENDS, logging.getLogger("tests"), secrets)
    for shown in (repr(secrets), str(secrets), repr(context), f"{context}"):
        assert "ORDERS_KEY, ORDERS_SALT" in shown
        assert "SECRET" not in shown
        assert "orders/key" not in shown


def test_a_secret_that_can_not_be_read_fails_the_tool_use_and_the_log_says_why() -> None:
    store, told = FakeStore(), Told()
    store.failure = StorageUnavailableError(detail="the secret orders/key can't be read: AccessDenied")
    with pytest.raises(ToolError, match="can't be read") as raised:
        vault(store, told=told).of("orders", ENDS)["ORDERS_KEY"]
    assert "orders/key" not in raised.value.message
    reason = "the secret orders/key can't be read: AccessDenied"
    assert told.lines == [("a secret can't be read", {"secret": "ORDERS_KEY", "reason": reason})]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a tool that reads a secret and one of a schema, whose function another module has."""
    monkeypatch.syspath_prepend(str(tmp_path))
    own = tmp_path / f"keyed_{tmp_path.parent.name.replace('-', '_')}_{tmp_path.name}"
    tools = own / "tools"
    tools.mkdir(parents=True)
    (tools / "_shared.py").write_text(
        "from agent.tooling.tool import ToolContext, tool\n"
        "@tool\ndef shared(context: ToolContext) -> list[str]:\n    return list(context.secrets)\n"
    )
    (tools / "orders.py").write_text(
        f"from agent.tooling.tool import ToolContext, tool\nfrom {own.name}.tools._shared import shared\n"
        "@tool\ndef find_order(context: ToolContext) -> str:\n    return context.secrets['ORDERS_KEY']\n"
        "TOOLS = [shared]\n"
    )
    (tools / "orders.toml").write_text('[secrets]\nORDERS_KEY = "orders/key"\n[environment]\nORDERS_TABLE = "orders"\n')
    return own


def run(own: Path, store: FakeStore, name: str) -> ToolRecord:
    kept = Vault(declared_secrets(("*",), own), {}, store, Told())
    box = Toolbox(load_tools(("*",), own), ToolLimits(), kept.of)
    [record] = box.run([ToolCall("t1", name, {})], Deadline.after(20), tool_context)
    return record


def test_a_tool_reads_the_secrets_of_the_module_that_offers_it(own: Path) -> None:
    store = FakeStore()
    assert "text 1 of orders/key" in text_of(run(own, store, "find_order"))
    assert store.deadlines[0].left() <= 20
    assert "ORDERS_KEY" in text_of(run(own, store, "shared"))


def test_a_tool_use_fails_where_a_secret_can_not_be_read(own: Path) -> None:
    store = FakeStore()
    store.failure = MisconfiguredError(detail="no such secret")
    record = run(own, store, "find_order")
    assert (record.status, record.error) == ("error", "tool_error")
    assert "A secret that this tool needs can't be read." in text_of(record)


def test_in_the_bundle_one_file_names_them_and_no_toml_is_read(own: Path) -> None:
    bundled = {"orders": {"secrets": {"OTHER_KEY": "other"}}, "mail": {"secrets": {}}}
    (own.parent / "tools.json").write_text(json.dumps(bundled))
    (own / "tools" / "orders.toml").write_text("[")
    assert declared_secrets(("*",), own) == {"orders": {"OTHER_KEY": "other"}, "mail": {}}


def test_a_toml_counts_only_where_its_module_is_offered(own: Path) -> None:
    assert declared_secrets(("*",), own) == {"orders": {"ORDERS_KEY": "orders/key"}}
    assert declared_secrets(("tickets",), own) == {"tickets": {}}
    assert declared_secrets((), own) == {}


@pytest.mark.parametrize("text", ["[secrets", "secrets = 3\n", "[secrets]\nORDERS_KEY = 3\n"])
def test_a_toml_that_can_not_be_read_is_told_with_its_file(own: Path, text: str) -> None:
    (own / "tools" / "orders.toml").write_text(text)
    with pytest.raises(MisconfiguredError) as raised:
        declared_secrets(("*",), own)
    assert f"{own.name}/tools/orders.toml can't be read: " in raised.value.detail


def test_a_context_of_a_test_needs_no_secrets() -> None:
    @tool
    def peek(context: ToolContext) -> int:
        """Peek."""
        return len(context.secrets)

    [record] = Toolbox([peek], ToolLimits()).run([ToolCall("t1", "peek", {})], Deadline.after(20), tool_context)
    assert "0" in text_of(record)
