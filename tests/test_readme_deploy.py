"""What the docs say of the deployment is what is deployed."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from msgspec import structs

from agent.adapters import refusals
from agent.adapters.bedrock import model as bedrock
from agent.edge.responses import STATUS
from agent.settings import Settings
from infra.config import Config, print_table
from infra.function import ALIAS, FAILURES_KEPT_DAYS
from infra.regions import TEST_EVENT_REGISTRY as REGISTRY
from tests.documents import PAGES

DEPLOY = "\n\n".join((PAGES["deploy"], PAGES["operations"]))
CHOSEN = Config()


def table(head: str) -> list[list[str]]:
    """The rows of the section's table whose first column has that head, each as its cells."""
    _, found, rest = DEPLOY.partition(f"\n| {head} |")
    assert found, f"no table begins with {head}"
    rows = rest.split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_the_table_of_keys_is_the_one_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_table()
    assert capsys.readouterr().out.strip() in DEPLOY


def test_every_key_of_cdk_json_is_told_once_those_that_the_function_reads_among_its_settings() -> None:
    told = {cells[0].strip("`"): json.loads(cells[1].strip("`")) for cells in table("key")}
    assert told == {item.name: item.default for item in fields(Config) if not item.metadata["setting"]}
    settings = {item.name.upper() for item in fields(Config) if item.metadata["setting"]}
    assert settings <= set(re.findall(r"^\| `([A-Z_]+)`", PAGES["reference"], re.MULTILINE))


def test_every_key_that_the_text_names_exists() -> None:
    keys = {item.name for item in fields(Config)}
    # Settings that the deployment leaves to others, and what is no key of ours.
    others = {
        "invoke_agent",
        "execute_tool",
        "error_type",
        "client_id",
        "stop_reason",
        "read_timeout",
        "request_id",
        "error",
        "authorizer_error",
        *STATUS,
    }
    named = set(re.findall("`([a-z]+(?:_[a-z]+)+)`", DEPLOY))
    assert named - others <= keys
    assert named & keys


def test_each_line_of_the_example_costs_its_amount_at_its_price() -> None:
    rows = table("part")
    for part, amount, price, cost in rows:
        assert number(cost) == round(number(amount) * number(price) / 1_000_000, 4), part
    total = round(sum(number(row[1]) * number(row[2]) for row in rows) / 1_000_000, 2)
    assert f"**{total} USD a day**" in DEPLOY


def test_the_example_takes_the_models_prices_from_the_defaults() -> None:
    price = {cells[0]: number(cells[2]) for cells in table("part")}
    assert price["input tokens (`price_input`)"] == CHOSEN.price_input
    assert price["output tokens (`price_output`)"] == CHOSEN.price_output
    model = 1_000 * (4_000 * CHOSEN.price_input + 300 * CHOSEN.price_output) / 1_000_000
    assert f"of which the model is {model:.2f}" in DEPLOY


def test_the_example_holds_what_it_assumes() -> None:
    amount = {
        cells[0].partition("]")[0].strip("[") + cells[0].partition(")")[2]: number(cells[1]) for cells in table("part")
    }
    assert "1,000 turns a day: two model calls a turn, together 4,000 input and 300 output tokens" in DEPLOY
    assert amount["Lambda, GB-seconds on arm64"] == 1_000 * 4 * CHOSEN.memory_mb / 1024
    assert amount["CloudWatch, KB of logs"] == 1_000 * 3
    # A turn is put with the question alone (1), updated and deleted at 2 KB (2 each); ten of 2 KB are read, 4 KB a unit.
    assert amount["DynamoDB, write units"] == 1_000 * (1 + 2 + 2)
    assert [number(row[1]) for row in table("part") if row[0] == "DynamoDB, read units"] == [
        1_000 * CHOSEN.history_pairs * 2 / 4
    ]


def test_a_month_is_thirty_days_and_what_cloudwatch_takes_anyway() -> None:
    rows = table("part")
    day = sum(number(row[1]) * number(row[2]) for row in rows) / 1_000_000
    watching = 12 * 0.30 + 17 * 0.10 + 3.00
    assert f"CloudWatch adds {watching:.2f} USD a month" in DEPLOY
    assert f"a month of 30 days costs {30 * day + watching:.2f} USD" in DEPLOY


def test_what_the_log_is_said_to_tell_is_what_the_function_logs() -> None:
    source = "".join(Path(str(module.__file__)).read_text(encoding="utf-8") for module in (bedrock, refusals))
    logged = [cells[1] for cells in table("what you see") if cells[1].startswith("`")]
    hints = [hint for cell in logged for hint in re.findall(r"\((?:check|MODEL_ID)[^)]*\)", cell)]
    assert len(hints) == 2
    assert [hint for hint in hints if hint not in source] == []


def test_error_codes_and_statuses_are_those_of_the_function() -> None:
    told = re.findall("`([a-z_]+)`, ([0-9]{3})", DEPLOY)
    assert {code for code, _ in told} >= {"misconfigured", "model_throttled", "out_of_time"}
    assert [(code, status) for code, status in told if STATUS[code] != int(status)] == []


def test_names_and_days_are_those_of_the_stack() -> None:
    assert f"the registry\n`{REGISTRY}`" in DEPLOY
    assert f"the alias `{ALIAS}`" in DEPLOY
    assert f"the stack's queue for {FAILURES_KEPT_DAYS} days" in DEPLOY


def test_a_setting_of_the_function_that_is_named_exists() -> None:
    named = set(re.findall("`([A-Z]+(?:_[A-Z]+)+)`", DEPLOY)) - {"AWS_PROFILE", "AWS_REGION", "AWS_ROLE"}
    assert {name.lower() for name in named} <= {item.name for item in structs.fields(Settings)}
