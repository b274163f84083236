"""What a family of models takes otherwise: the root of a schema and the names of tools, for Nova and where nobody knows."""

from typing import Any

import pytest

from agent.adapters.families import family_of, suited
from agent.messages import Message, user_text
from agent.ports import ModelReply, ModelRequest
from local.bedrock.rules import violations
from tests.fakes import CLAUDE, FAMILIES, LLAMA, MISTRAL, NOVA, asks, use, wire_body

_HIDDEN = "arn:aws:bedrock:us-east-1:111122223333:application-inference-profile/abc123"


def spec(name: str, **more: Any) -> dict[str, Any]:
    """A tool's spec with more at the root of its schema."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "title": "A"}}, "required": ["a"], **more}
    return {"toolSpec": {"name": name, "description": "Do it.", "inputSchema": {"json": schema}}}


def sent_to(family: str, request: ModelRequest) -> ModelRequest:
    """What a model of the family is asked."""
    asked: list[ModelRequest] = []

    def ask(suited_request: ModelRequest) -> ModelReply:
        asked.append(suited_request)
        return asks()

    suited(family, request, ask)
    return asked[0]


@pytest.mark.parametrize(
    ("model_id", "told", "family"),
    [
        (CLAUDE, "", "anthropic"),
        (NOVA, "", "nova"),
        ("global.amazon.nova-2-lite-v1:0", "", "nova"),
        (LLAMA, "", "meta"),
        (MISTRAL, "", "mistral"),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0", "", "nova"),
        ("arn:aws:bedrock:us-east-1:111122223333:inference-profile/us.meta.llama3-3-70b-instruct-v1:0", "", "meta"),
        ("gpt-4o", "", "other"),
        ("cohere.command-r-v1:0", "", "other"),
        (_HIDDEN, "", ""),
        (_HIDDEN, "nova", "nova"),
        (_HIDDEN, "other", "other"),
        (CLAUDE, "nova", "anthropic"),
    ],
)
def test_the_id_tells_the_family_and_the_setting_does_where_it_hides_it(model_id: str, told: str, family: str) -> None:
    assert family_of(model_id, told) == family


@pytest.mark.parametrize("family", ["anthropic", "meta", "mistral", "other"])
def test_most_families_get_what_was_asked(family: str) -> None:
    request = ModelRequest("", [user_text("q")], [spec("get-time", additionalProperties=False)])
    assert sent_to(family, request) is request


@pytest.mark.parametrize("family", ["nova", ""])
def test_nova_gets_a_bare_root_and_reads_the_rest(family: str) -> None:
    tools = [spec("time", additionalProperties=False, description="all of it"), spec("plain")]
    sent = sent_to(family, ModelRequest("", [user_text("q")], tools))
    time, plain = (each["toolSpec"] for each in sent.tools)
    assert time["inputSchema"] == plain["inputSchema"] == spec("plain")["toolSpec"]["inputSchema"]
    assert plain["description"] == "Do it."
    assert time["description"].startswith("Do it.\n\nThe input must also fit this JSON schema: ")
    assert '"additionalProperties": false' in time["description"]
    assert tools == [spec("time", additionalProperties=False, description="all of it"), spec("plain")]


def test_nova_gets_underscores_and_its_call_finds_its_way_back() -> None:
    names = ["get-time", "get_time", "get-weather", "a-b", "a_b", "a_b_2", "x" * 62 + "-y", "x" * 62 + "_y"]
    history: list[Message] = [
        user_text("q"),
        {"role": "assistant", "content": [use("t1", "get-weather"), use("t2", "gone-tool")]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": each, "content": [{"text": "x"}]}} for each in ("t1", "t2")],
        },
    ]
    asked: list[ModelRequest] = []

    def ask(request: ModelRequest) -> ModelReply:
        asked.append(request)
        made_up = [use("t9", "not-offered"), {"toolUse": {"toolUseId": "t10", "name": None}}, {"text": "so"}]
        return asks(*(use(f"u{n}", each["toolSpec"]["name"]) for n, each in enumerate(request.tools)), *made_up)

    reply = suited("nova", ModelRequest("", history, [spec(each) for each in names]), ask)
    sent = [each["toolSpec"]["name"] for each in asked[0].tools]
    assert len(set(sent)) == len(names)
    assert not any("-" in each or len(each) > 64 for each in sent)
    assert sent[1:3] == ["get_time", "get_weather"]
    used = [block["toolUse"]["name"] for block in asked[0].messages[1]["content"]]
    assert used == ["get_weather", "gone_tool"]
    back = [block["toolUse"]["name"] for block in reply.content if "toolUse" in block]
    assert back == [*names, "not-offered", None]
    assert history[1]["content"][0] == use("t1", "get-weather")


@pytest.mark.parametrize("model_id", [*FAMILIES, _HIDDEN])
def test_the_adapter_sends_each_family_what_it_takes(model_id: str) -> None:
    body = wire_body(ModelRequest("", [user_text("q")], [spec("get-time", additionalProperties=False)]), model_id)
    assert violations(model_id, body) == []
    name = body["toolConfig"]["tools"][0]["toolSpec"]["name"]
    assert name == ("get_time" if model_id in (NOVA, _HIDDEN) else "get-time")
