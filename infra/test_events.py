"""The sample events in the console: shareable test events of the function, which are a schema in EventBridge.

The form is the console's own: an OpenAPI document whose examples are the events, named after the function, in a
registry that all functions of the account and region share. So no stack can hold the registry: a second one would fail, and
so would the first once it was destroyed and is made anew. `make deploy` makes it where it is missing.
"""

import json
from pathlib import Path
from typing import Any

from aws_cdk import aws_eventschemas as eventschemas
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.regions import TEST_EVENT_REGISTRY

EVENTS = Path(__file__).parent.parent / "events"


class ConsoleEvents(Construct):
    """The files of events/ as test events of the function."""

    def __init__(self, scope: Construct, construct_id: str, function: lambda_.IFunction) -> None:
        super().__init__(scope, construct_id)
        eventschemas.CfnSchema(
            self,
            "Events",
            registry_name=TEST_EVENT_REGISTRY,
            schema_name=f"_{function.function_name}-schema",
            type="OpenApi3",
            content=json.dumps(event_schema(EVENTS), ensure_ascii=False),
        )


def event_schema(folder: Path) -> dict[str, Any]:
    """The OpenAPI document for the event files of a folder, each an example named after its file."""
    examples = {path.stem: {"value": json.loads(path.read_text())} for path in sorted(folder.glob("*.json"))}
    return {
        "openapi": "3.0.0",
        "info": {"version": "1.0.0", "title": "Event"},
        "paths": {},
        "components": {"schemas": {"Event": {"type": "object"}}, "examples": examples},
    }
