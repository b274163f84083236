"""AWS's event streams (application/vnd.amazon.eventstream): messages in, each checked by its CRC, events out.

See https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

import msgspec

from agent.aws.errors import ServiceError, UnreadableError

_FIXED = {2: ">b", 3: ">h", 4: ">i", 5: ">q", 8: ">q"}  # byte, short, integer, long, time in milliseconds
_MAX_HEADERS, _MAX_PAYLOAD = 128 * 1024, 24 * 1024 * 1024


def events(pieces: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """The events of a body that comes in pieces: name and payload each.

    Raises ServiceError where the service ends the stream with one, with the code as answers have it, and UnreadableError.
    """
    for headers, payload in messages(pieces):
        match headers.get(":message-type"):
            case "event":
                yield str(headers.get(":event-type", "")), payload
            case "exception":
                code = str(headers.get(":exception-type", ""))
                raise ServiceError(200, code[:1].upper() + code[1:], _message(payload))
            case "error":
                code, told = (str(headers.get(f":error-{name}", "")) for name in ("code", "message"))
                raise ServiceError(200, code, told)


def messages(pieces: Iterable[bytes]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The messages: headers and payload each. Raises UnreadableError for one that is damaged or cut off."""
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        while len(buffer) >= 12:
            size, headers, checksum = struct.unpack_from(">III", buffer)
            if crc32(buffer[:8]) != checksum:
                raise UnreadableError("a message of the event stream is damaged")
            if headers > _MAX_HEADERS or not 16 + headers <= size <= 16 + headers + _MAX_PAYLOAD:
                raise UnreadableError("a message of the event stream has no size that can be")
            if len(buffer) < size:
                break
            message = bytes(buffer[:size])
            del buffer[:size]
            if crc32(message[:-4]) != int.from_bytes(message[-4:], "big"):
                raise UnreadableError("a message of the event stream is damaged")
            yield _headers(message[12 : 12 + headers]), message[12 + headers : -4]
    if buffer:
        raise UnreadableError("the event stream was cut off")


def _message(payload: bytes) -> str:
    try:
        return str(msgspec.json.decode(payload)["message"])
    except (ValueError, KeyError, TypeError):
        return payload.decode("utf-8", "replace")


def _headers(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    at = 0
    try:
        while at < len(data):
            end = at + 1 + data[at]
            name, kind, at = data[at + 1 : end].decode(), data[end], end + 1
            value: object = kind == 0
            if kind in _FIXED:
                (value,) = struct.unpack_from(_FIXED[kind], data, at)
                at += struct.calcsize(_FIXED[kind])
            elif kind in (6, 7):  # bytes, text
                (size,) = struct.unpack_from(">H", data, at)
                content, at = data[at + 2 : at + 2 + size], at + 2 + size
                value = content.decode() if kind == 7 else content
            elif kind == 9:  # a UUID
                value, at = data[at : at + 16], at + 16
            if kind > 9 or at > len(data) or name in found:
                raise UnreadableError("a header of the event stream can't be read")
            found[name] = value
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise UnreadableError("a header of the event stream can't be read") from error
    return found
