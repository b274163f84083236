"""The stack is synthesised once for each set of choices that tests ask for, unbundled, whichever process asks first."""

import dataclasses
import fcntl
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.node import use_node

# Importing the CDK starts Node.js, so it is found before a test module does.
use_node()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder of this run that its processes share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "templates"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def synthesise(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Callable[..., Any]:
    """A function from choices (and a region) to their Synthesis."""
    from tests.infra.synthesis import Synthesis, synthesis

    known: dict[Path, Synthesis] = {}

    def synthesise(region: str = "us-east-1", **choices: object) -> Synthesis:
        asked = repr((region, sorted(choices.items())))
        file = shared / f"{hashlib.sha256(asked.encode()).hexdigest()}.json"
        if file not in known:
            with file.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not file.exists():
                    made = synthesis(tmp_path_factory.mktemp("cdk"), region, choices)
                    file.write_text(json.dumps(dataclasses.asdict(made)))
            known[file] = Synthesis(**json.loads(file.read_text()))
        return known[file]

    return synthesise


@pytest.fixture(scope="session")
def stack(synthesise: Callable[..., Any]) -> Any:
    """The Synthesis of the defaults, in us-east-1."""
    return synthesise()
