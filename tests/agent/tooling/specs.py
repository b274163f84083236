"""What every tool spec has to be: plain, and nothing that a model has anything against."""

from typing import Any

from agent.messages import user_text
from agent.ports import ModelRequest
from local.bedrock.rules import violations
from tests.fakes import FAMILIES, wire_body

KEYWORDS = {"type", "properties", "required", "items", "description", "enum"}


def judge_spec(spec: dict[str, Any]) -> None:
    """No model has anything against the spec, warnings about it included."""
    for model_id in FAMILIES:
        body = wire_body(ModelRequest("", [user_text("q")], [spec]), model_id)
        assert violations(model_id, body) == []


def keywords_of(schema: dict[str, Any]) -> set[str]:
    """All keywords in a schema, those of the schemas in it included."""
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return set(schema).union(*(keywords_of(each) for each in inner))
