"""How long a turn may take where answers stream: as long as its entrance waits, and no longer."""

import time
from typing import Any

import pytest

from agent.deadline import Deadline
from agent.ports import ModelReply, ModelRequest, TextListener
from tests.agent.edge.gateway_events import function_url, http_api, rest_api
from tests.agent.edge.stage import stage
from tests.fakes import NOVA, reply

QUESTION = {"question": "hi"}
ACCEPTS = {"accept": "text/event-stream"}


class Watch:
    """A model that notes how much time it was given."""

    model_id = NOVA

    def __init__(self) -> None:
        self.left: list[float] = []

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        self.left.append(deadline.left())
        return reply("Fine.")


def ago(seconds: float) -> int:
    return round((time.time() - seconds) * 1000)


@pytest.mark.parametrize(
    ("make", "headers", "clock", "waited", "seconds"),
    [
        (function_url, ACCEPTS, "timeEpoch", 100, 898),
        (function_url, {}, "timeEpoch", 100, 898),
        (rest_api, ACCEPTS, "requestTimeEpoch", 100, 898),
        # a REST API that streams drops what is silent for five minutes, and a plain answer is silent until it is there
        (rest_api, {}, "requestTimeEpoch", 100, 190),
        (http_api, ACCEPTS, "timeEpoch", 10, 18),
    ],
)
def test_a_turn_has_the_time_of_its_entrance(
    make: Any, headers: dict[str, str], clock: str, waited: float, seconds: float
) -> None:
    watch = Watch()
    with stage(models=[watch]) as scene:
        scene.send(make(body=QUESTION, headers=headers, **{clock: ago(waited)}), seconds=900)
    assert seconds - 10 < watch.left[0] <= seconds + 0.1


def test_a_direct_turn_has_the_functions_time() -> None:
    watch = Watch()
    with stage(models=[watch]) as scene:
        scene.send({**QUESTION, "stream": True}, seconds=900)
    assert 888 < watch.left[0] <= 898


def test_a_rest_api_that_does_not_stream_has_its_own_time() -> None:
    watch = Watch()
    with stage(models=[watch], STREAMING="false") as scene:
        scene.send(rest_api(body=QUESTION), seconds=900)
    assert 20 < watch.left[0] <= 28
