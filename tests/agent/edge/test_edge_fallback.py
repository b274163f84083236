"""FALLBACK_MODEL_IDS and MODEL_REQUEST_FIELDS through the whole function."""

from collections.abc import Iterator
from typing import Any

import pytest

from agent.errors import ModelError
from local.bedrock.reply import Reply, error_reply, text_reply
from tests.agent.edge.whole_function import Whole, running
from tests.fakes import CLAUDE

SECOND = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
THIRD = "us.anthropic.claude-opus-4-1-20250805-v1:0"
FIELDS = '{"thinking": {"type": "enabled", "budget_tokens": 1024}}'


@pytest.fixture(scope="module")
def one_function() -> Iterator[Whole]:
    with running(FALLBACK_MODEL_IDS=f"{SECOND}, {THIRD},{CLAUDE}", MODEL_REQUEST_FIELDS=FIELDS) as whole:
        yield whole


def failing(*models: str) -> Any:
    def model(model_id: str, request: dict[str, Any]) -> Reply:
        return error_reply("ModelErrorException", 424) if model_id in models else text_reply(f"I am {model_id}.")

    return model


@pytest.mark.parametrize(("broken", "answers"), [((), CLAUDE), ((CLAUDE,), SECOND), ((CLAUDE, SECOND), THIRD)])
def test_the_answer_tells_which_model_gave_it(whole: Whole, broken: tuple[str, ...], answers: str) -> None:
    whole.answer_with(failing(*broken))
    answer = whole.direct()
    assert (answer["model_id"], answer["answer"]) == (answers, f"I am {answers}.")
    assert [request.model_id for request in whole.requests] == [*broken, answers]


def test_where_all_models_fail_the_last_ones_error_is_raised_and_each_was_asked_once(whole: Whole) -> None:
    whole.answer_with(failing(CLAUDE, SECOND, THIRD))
    with pytest.raises(ModelError):
        whole.direct()
    assert [request.model_id for request in whole.requests] == [CLAUDE, SECOND, THIRD]


def test_every_model_gets_the_same_request_with_the_fields_that_are_set(whole: Whole) -> None:
    whole.answer_with(failing(CLAUDE))
    whole.direct("hi there")
    first, second = whole.requests
    assert first.body == second.body
    assert first.body["additionalModelRequestFields"] == {"thinking": {"type": "enabled", "budget_tokens": 1024}}
