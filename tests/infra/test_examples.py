"""What only one company needs: the examples of app.py's `extend` synthesise, and pass the security rules and cfn-lint."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cfnlint.api import ManualArgs, lint  # type: ignore[import-untyped]

from infra.bundling import ROOT
from infra.stack import AgentStack
from tests.infra.synthesis import Synthesis, synthesis

EXAMPLES = sorted((ROOT / "docs" / "examples" / "app").glob("*.py"))


def extend_of(path: Path) -> Callable[[AgentStack], None]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[AgentStack], None] = module.extend
    return found


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    """All examples added to one stack, since a synth takes long."""
    folder = tmp_path_factory.mktemp("extended")
    return synthesis(folder, "us-east-1", {}, extend=[extend_of(path) for path in EXAMPLES])


def test_there_are_three_worked_examples() -> None:
    assert [path.stem for path in EXAMPLES] == ["domain", "orders", "vpc"]


def test_the_function_is_in_a_vpc_and_reaches_what_it_calls(extended: Synthesis) -> None:
    agent = next(item for name, item in extended.resources("Lambda::Function").items() if name.startswith("Agent"))
    assert len(agent["VpcConfig"]["SubnetIds"]) == 2
    reached = " ".join(str(item["ServiceName"]) for item in extended.resources("EC2::VPCEndpoint").values())
    assert all(service in reached for service in ("dynamodb", "bedrock-runtime", "secretsmanager"))


def test_the_api_answers_under_its_own_name_alone(extended: Synthesis) -> None:
    assert extended.resource("ApiGatewayV2::Api")["DisableExecuteApiEndpoint"] is True
    [api] = extended.resources("ApiGatewayV2::Api")
    assert extended.resource("ApiGatewayV2::ApiMapping")["ApiId"] == {"Ref": api}


def test_a_tools_table_is_read_by_the_agent_which_is_asked_each_morning(extended: Synthesis) -> None:
    orders = next(name for name in extended.resources("DynamoDB::Table") if name.startswith("Orders"))
    agent = next(item for name, item in extended.resources("Lambda::Function").items() if name.startswith("Agent"))
    assert agent["Environment"]["Variables"]["ORDERS_TABLE"] == {"Ref": orders}
    assert any(orders in str(statement["Resource"]) for statement in extended.allowed("dynamodb"))
    [target] = extended.resource("Events::Rule")["Targets"]
    assert json.loads(target["Input"])["question"]


def test_cfn_lint_finds_nothing_in_them(extended: Synthesis) -> None:
    found = lint(json.dumps(extended.template), config=ManualArgs(ignore_checks=["W3005"]))
    assert [str(match) for match in found] == []
