"""The stack is synthesised once for each set of choices that tests ask for, unbundled."""

from collections.abc import Callable
from typing import Any

import pytest

from infra.node import use_node

# Importing the CDK starts Node.js, so it is found before a test module does.
use_node()


@pytest.fixture(scope="session")
def synthesise(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """A function from choices (and a region) to their Synthesis."""
    from tests.infra.synthesis import Synthesis, synthesis

    known: dict[str, Synthesis] = {}

    def synthesise(region: str = "us-east-1", **choices: object) -> Synthesis:
        key = repr((region, sorted(choices.items())))
        if key not in known:
            known[key] = synthesis(tmp_path_factory.mktemp("cdk"), region, choices)
        return known[key]

    return synthesise


@pytest.fixture(scope="session")
def stack(synthesise: Callable[..., Any]) -> Any:
    """The Synthesis of the defaults, in us-east-1."""
    return synthesise()
