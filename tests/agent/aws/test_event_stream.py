"""Event streams, judged by botocore's decoder, whole, damaged and cut."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer, ParserError

from agent.aws.errors import ServiceError, UnreadableError
from agent.aws.event_stream import events, messages

_FIXED = {2: ">b", 3: ">h", 4: ">i", 5: ">q", 8: ">q"}


def message(headers: dict[str, tuple[int, Any]], payload: bytes) -> bytes:
    """A message of an event stream; a header is its type and value."""
    encoded = b""
    for name, (kind, value) in headers.items():
        encoded += bytes([len(name)]) + name.encode() + bytes([kind])
        if kind in _FIXED:
            encoded += struct.pack(_FIXED[kind], value)
        elif kind in (6, 7):
            content = value.encode() if kind == 7 else value
            encoded += struct.pack(">H", len(content)) + content
        elif kind == 9:
            encoded += value
    prelude = struct.pack(">II", 16 + len(encoded) + len(payload), len(encoded))
    whole = prelude + struct.pack(">I", crc32(prelude)) + encoded + payload
    return whole + struct.pack(">I", crc32(whole))


def event(kind: str, payload: bytes, **headers: str) -> bytes:
    """A message as services send them; underscores in names stand for hyphens."""
    told = {":message-type": kind, **{f":{name.replace('_', '-')}": value for name, value in headers.items()}}
    return message({name: (7, value) for name, value in told.items()}, payload)


def _value(chance: random.Random, kind: int) -> Any:
    bits = {2: 7, 3: 15, 4: 31, 5: 63}
    if kind in bits:
        return chance.randint(-(2 ** bits[kind]), 2 ** bits[kind] - 1)
    values: dict[int, Any] = {
        0: True,
        1: False,
        6: chance.randbytes(chance.randint(0, 40)),
        7: "".join(chance.choice("aé漢:") for _ in range(chance.randint(0, 20))),
        8: chance.randint(0, 2**42),
        9: chance.randbytes(16),
    }
    return values[kind]


def _in_pieces(chance: random.Random, data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = chance.randint(1, 200)
        yield data[at : at + size]
        at += size


def _theirs(pieces: list[bytes]) -> tuple[list[Any], bool]:
    buffer, found = EventStreamBuffer(), []
    try:
        for piece in pieces:
            buffer.add_data(piece)
            for each in buffer:
                found.append((each.headers, each.payload))
    except ParserError:
        return found, True
    return found, False


def _ours(pieces: list[bytes]) -> tuple[list[Any], str]:
    found = []
    try:
        for each in messages(pieces):
            found.append(each)
    except UnreadableError as error:
        return found, str(error)
    return found, ""


@pytest.mark.parametrize("harm", ["none", "a bit", "the end"])
def test_streams_are_decoded_as_botocore_decodes_them(harm: str) -> None:
    chance = random.Random(harm)
    for _ in range(250):
        stream = bytearray()
        for _ in range(chance.randint(1, 6)):
            kinds = [chance.randint(0, 9) for _ in range(chance.randint(0, 5))]
            headers = {f"h{number}": (kind, _value(chance, kind)) for number, kind in enumerate(kinds)}
            stream += message(headers, chance.randbytes(chance.randint(0, 300)))
        if harm == "a bit":
            stream[chance.randrange(len(stream))] ^= 1 << chance.randrange(8)
        elif harm == "the end":
            del stream[chance.randrange(len(stream)) :]
        pieces = list(_in_pieces(chance, bytes(stream)))
        theirs, refused = _theirs(pieces)
        ours, problem = _ours(pieces)
        assert ours == theirs
        # botocore waits for ever for the rest of a message
        assert bool(problem) == refused or (problem == "the event stream was cut off" and harm == "the end")


def test_a_message_that_claims_an_impossible_size_is_refused_at_once() -> None:
    for size, headers in ((10, 0), (2**31, 0), (300_000, 200_000)):
        prelude = struct.pack(">II", size, headers)
        with pytest.raises(UnreadableError, match="no size that can be"):
            list(messages([prelude + struct.pack(">I", crc32(prelude))]))


def test_events_come_by_name_one_by_one() -> None:
    stream = event("event", b"{}", event_type="messageStart") + event("event", b'{"a":1}', event_type="messageStop")
    assert list(events([stream[:30], stream[30:]])) == [("messageStart", b"{}"), ("messageStop", b'{"a":1}')]


def test_an_exception_in_a_stream_is_told_by_the_code_that_answers_have() -> None:
    stream = event("event", b"{}", event_type="messageStart")
    stream += event("exception", b'{"message":"too much"}', exception_type="throttlingException")
    found = events([stream])
    next(found)
    with pytest.raises(ServiceError) as failed:
        next(found)
    assert (failed.value.code, failed.value.message) == ("ThrottlingException", "too much")


def test_an_error_in_a_stream_is_told_by_its_headers() -> None:
    with pytest.raises(ServiceError) as failed:
        list(events([event("error", b"", error_code="InternalFailure", error_message="sorry")]))
    assert (failed.value.code, failed.value.message) == ("InternalFailure", "sorry")
