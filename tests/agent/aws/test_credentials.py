"""Who we are, in each place that a function can run in."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent.aws.credentials import CredentialSource
from agent.aws.signing import Credentials
from agent.aws.transport import Transport
from agent.deadline import Deadline
from agent.errors import MisconfiguredError
from tests.agent.aws.servers import Script, Server, answering, ok, serving

NOW = 1_800_000_000.0


class Source:
    """A source with a clock of its own, over an environment that may change."""

    def __init__(self, **environment: str) -> None:
        self.environment, self.now = environment, NOW
        self._source = CredentialSource(environment, Transport({}), now=lambda: self.now)

    def current(self, seconds: float = 5) -> Credentials:
        return self._source.current(Deadline.after(seconds))


def _keys(number: int, minutes: float) -> bytes:
    ends = datetime.fromtimestamp(NOW + minutes * 60, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = {"AccessKeyId": f"A{number}", "SecretAccessKey": "s", "Token": "t", "Expiration": ends, "AccountId": "1"}
    return ok(json.dumps(told).encode())


def _numbered(minutes: float) -> Script:
    """A container that gives other keys each time."""
    count = iter(range(1, 100))
    return lambda connection, request: connection.sendall(_keys(next(count), minutes))


def _at(server: Server, **more: str) -> Source:
    return Source(AWS_CONTAINER_CREDENTIALS_FULL_URI=f"{server.url}/credentials?v=1", **more)


def test_the_environments_keys_come_first_and_are_read_anew_with_each_call() -> None:
    source = Source(
        AWS_ACCESS_KEY_ID="A",
        AWS_SECRET_ACCESS_KEY="s",
        AWS_SESSION_TOKEN="t",
        AWS_CONTAINER_CREDENTIALS_FULL_URI="http://127.0.0.1:1",
    )
    assert source.current() == Credentials("A", "s", "t")
    source.environment.update(AWS_ACCESS_KEY_ID="B", AWS_SESSION_TOKEN="")
    assert source.current() == Credentials("B", "s")


def test_half_a_key_is_told() -> None:
    with pytest.raises(MisconfiguredError) as failed:
        Source(AWS_ACCESS_KEY_ID="A").current()
    assert "AWS_SECRET_ACCESS_KEY" in failed.value.detail


def test_a_containers_keys_are_asked_for_with_its_token_and_kept_until_they_end() -> None:
    with serving(_numbered(minutes=60)) as server:
        source = _at(server, AWS_CONTAINER_AUTHORIZATION_TOKEN="let me in")
        assert server.requests == []  # so that no snapshot holds keys
        found = []
        for minutes in (0, 44, 46, 46):
            source.now = NOW + minutes * 60
            found.append(source.current().access_key)
        assert found == ["A1", "A1", "A2", "A3"]  # the clock of this container stands, so that every answer is old
        assert source.current().token == "t"
    assert server.requests[0].startswith(b"GET /credentials?v=1 HTTP/1.1\r\n")
    assert b"\r\nAuthorization: let me in\r\n" in server.requests[0]


def test_a_token_in_a_file_is_read_anew_and_comes_before_the_other(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with serving(_numbered(minutes=1)) as server:
        source = _at(
            server, AWS_CONTAINER_AUTHORIZATION_TOKEN="other", AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=str(file)
        )
        for token in ("one", "two"):
            file.write_text(token)
            source.current()
    assert [b"Authorization: one" in server.requests[0], b"Authorization: two" in server.requests[1]] == [True, True]


def test_a_token_with_a_line_break_is_never_sent(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\r\nHost: elsewhere")
    with serving(_numbered(minutes=1)) as server, pytest.raises(MisconfiguredError):
        _at(server, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=str(file)).current()
    assert server.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/x",
        "http://169.254.169.254/x",
        "http://localhost.example.com/x",
        "http://127.0.0.1.example.com/x",
    ],
)
def test_keys_are_asked_of_no_other_host_without_tls(url: str) -> None:
    with pytest.raises(MisconfiguredError) as failed:
        Source(AWS_CONTAINER_CREDENTIALS_FULL_URI=url).current()
    assert url.split("/")[2] in failed.value.detail


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 500 Sorry\r\nContent-Length: 0\r\n\r\n", ok(b"<html>"), ok(b'{"AccessKeyId":"A"}'), ok(b"[]")],
)
def test_a_container_that_fails_is_asked_three_times_and_told(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = itertools.count()
    monkeypatch.setattr(Deadline, "pause", lambda *told: next(pauses) < 9)
    with serving(answering(answer)) as server, pytest.raises(MisconfiguredError) as failed:
        _at(server).current()
    assert failed.value.detail.startswith("the container's credentials can't be had")
    assert (len(server.requests), next(pauses)) == (3, 2)


def test_keys_that_still_hold_are_used_while_the_container_fails() -> None:
    broken: list[bool] = []

    def script(connection: Any, request: bytes) -> None:
        connection.sendall(ok(b"no") if broken else _keys(1, minutes=60))

    with serving(script) as server:
        source = _at(server)
        source.current()
        broken.append(True)
        source.now = NOW + 49 * 60
        assert source.current().access_key == "A1"
        source.now = NOW + 51 * 60
        with pytest.raises(MisconfiguredError):
            source.current(seconds=0.3)


def test_a_laptops_keys_are_what_botocore_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = tmp_path / "credentials"
    profile.write_text("[work]\naws_access_key_id = AP\naws_secret_access_key = sp\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(profile))
    monkeypatch.setenv("AWS_PROFILE", "work")
    source = Source()
    assert source.current() == Credentials("AP", "sp")
    assert source.current() == Credentials("AP", "sp")


def test_no_keys_anywhere_are_told_with_what_makes_some(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    with pytest.raises(MisconfiguredError) as failed:
        Source().current()
    assert "aws configure" in failed.value.detail
    monkeypatch.setenv("AWS_PROFILE", "missing")
    with pytest.raises(MisconfiguredError) as failed:
        Source().current()
    assert "missing" in failed.value.detail
