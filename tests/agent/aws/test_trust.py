"""Certificates that are believed and those that aren't, proxies, and what the environment says of both."""

from __future__ import annotations

import random
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

import certifi
import pytest

from agent.aws import trust
from agent.aws.endpoints import Endpoint, endpoint_at
from agent.aws.errors import ConnectionFailedError, TimedOutError
from agent.aws.transport import Transport
from agent.aws.trust import Trust, proxy_for
from agent.deadline import Deadline
from agent.errors import MisconfiguredError
from tests.agent.aws.servers import Authority, Script, Server, answering, ok, serving

_ROOTS = Path(trust.__file__).with_name("amazon_roots.pem")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def as_world(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's store holds the test's authority alone."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.bundle))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)


def _get(server: Server, environment: dict[str, str], *, is_aws: bool = True, host: str = "127.0.0.1") -> bytes:
    endpoint = server.endpoint(host, is_aws=is_aws)
    return Transport(environment).send(endpoint, "GET", "/", [], b"", Deadline.after(10)).body()


@pytest.mark.parametrize("is_aws", [True, False])
def test_a_companys_own_authority_is_believed_where_it_is_named(authority: Authority, is_aws: bool) -> None:
    with serving(answering(ok(b"yes")), authority.context()) as server:
        assert _get(server, {"AWS_CA_BUNDLE": str(authority.bundle)}, is_aws=is_aws) == b"yes"
        assert _get(server, {"REQUESTS_CA_BUNDLE": str(authority.bundle)}, is_aws=is_aws) == b"yes"


@pytest.mark.parametrize("is_aws", [True, False])
def test_a_companys_authority_need_not_keep_all_of_rfc_5280(tmp_path: Path, is_aws: bool) -> None:
    lax = Authority(tmp_path, is_lax=True)
    with serving(answering(ok(b"yes")), lax.context()) as server:
        assert _get(server, {"AWS_CA_BUNDLE": str(lax.bundle)}, is_aws=is_aws) == b"yes"


def test_only_for_a_companys_authority_are_rules_relaxed(authority: Authority) -> None:
    of_python = ssl.create_default_context().verify_flags & ssl.VERIFY_X509_STRICT
    here = endpoint_at("https://a", is_aws=True)
    assert [each.verify_flags & ssl.VERIFY_X509_STRICT for each in Trust({}).contexts(here)] == [of_python] * 2
    (company,) = Trust({"AWS_CA_BUNDLE": str(authority.bundle)}).contexts(here)
    assert not company.verify_flags & ssl.VERIFY_X509_STRICT


@pytest.mark.parametrize("is_aws", [True, False])
@pytest.mark.parametrize("named", [True, False], ids=["by AWS_CA_BUNDLE", "by the machine's store"])
@pytest.mark.parametrize(
    ("host", "days", "told"),
    [("127.0.0.2", 1, "mismatch"), ("example.com", 1, "mismatch"), ("127.0.0.1", -1, "expired")],
    ids=["another address", "another name", "expired"],
)
@pytest.mark.usefixtures("as_world")
def test_a_certificate_that_is_wrong_is_refused(
    authority: Authority, is_aws: bool, named: bool, host: str, days: int, told: str
) -> None:
    environment = {"AWS_CA_BUNDLE": str(authority.bundle)} if named else {}
    with serving(answering(ok(b"no")), authority.context(host, days=days)) as server:
        with pytest.raises(MisconfiguredError) as failed:
            _get(server, environment, is_aws=is_aws)
        assert server.requests == []
    assert told in failed.value.detail
    assert "127.0.0.1" in failed.value.detail


@pytest.mark.parametrize("is_aws", [True, False])
def test_a_certificate_of_nobody_is_refused(authority: Authority, tmp_path: Path, is_aws: bool) -> None:
    stranger = Authority(tmp_path)
    for environment in ({}, {"AWS_CA_BUNDLE": str(authority.bundle)}):
        with serving(answering(ok(b"no")), stranger.context()) as server:
            with pytest.raises(MisconfiguredError, match="not set up correctly"):
                _get(server, environment, is_aws=is_aws)
            assert server.requests == []


@pytest.mark.usefixtures("as_world")
def test_the_machines_store_is_asked_where_amazons_roots_refuse(authority: Authority) -> None:
    with serving(answering(ok(b"yes", Connection="close"), close=True), authority.context()) as server:
        transport = Transport({})
        for _ in range(3):
            endpoint = server.endpoint(is_aws=True)
            assert transport.send(endpoint, "GET", "/", [], b"", Deadline.after(10)).body() == b"yes"
    assert server.connections == 4  # refused but once


@pytest.mark.usefixtures("as_world")
def test_for_hosts_that_are_not_amazons_the_machines_store_comes_first(authority: Authority) -> None:
    with serving(answering(ok(b"yes")), authority.context()) as server:
        assert _get(server, {}, is_aws=False) == b"yes"
    assert server.connections == 1


def test_the_roots_are_amazons_as_mozilla_has_them() -> None:
    def certificates(path: Path) -> dict[str, bytes]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(path)
        subjects = (str(each["subject"]) for each in context.get_ca_certs())
        return dict(zip(subjects, context.get_ca_certs(binary_form=True), strict=True))

    ours, theirs = certificates(_ROOTS), certificates(Path(certifi.where()))
    assert len(ours) == 5
    assert ours.items() <= theirs.items()
    assert sum("'Amazon'" in name for name in ours) == 4


def test_a_machine_without_a_store_has_botocores(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = SimpleNamespace(cafile=None, capath=None)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: nothing)
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda *_: None)
    (context,) = Trust({}).contexts(endpoint_at("https://a"))
    assert len(context.get_ca_certs()) > 50


@pytest.mark.parametrize("name", ["missing.pem", "empty.pem"])
def test_a_bundle_that_cant_be_read_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    environment = {"AWS_CA_BUNDLE": str(tmp_path / name)}
    with serving(answering(ok(b"no"))) as server:
        endpoint = Endpoint("https", "127.0.0.1", server.port, is_aws=True)
        with pytest.raises(MisconfiguredError) as failed:
            Transport(environment).send(endpoint, "GET", "/", [], b"", Deadline.after(5))
    assert failed.value.detail.startswith("AWS_CA_BUNDLE is")
    assert name in failed.value.detail


def test_a_server_that_never_ends_its_handshake_is_left_in_time() -> None:
    quiet = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with listener.accept()[0]:
                quiet.wait(10)

        threading.Thread(target=accept, daemon=True).start()
        endpoint = Endpoint("https", "127.0.0.1", listener.getsockname()[1], is_aws=True, connect=0.2)
        with pytest.raises(TimedOutError):
            Transport({}).send(endpoint, "GET", "/", [], b"", Deadline.after(30))
        quiet.set()


@pytest.fixture
def proxy() -> Iterator[Server]:
    """A proxy that passes everything on to the port it is asked for, on this machine."""

    def script(connection: socket.socket, request: bytes) -> None:
        port = int(request.split(b" ")[1].rpartition(b":")[2])
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with socket.create_connection(("127.0.0.1", port)) as inner:
            threading.Thread(target=_pass, args=(inner, connection), daemon=True).start()
            _pass(connection, inner)

    with serving(script) as server:
        yield server


def _pass(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_calls_go_through_the_proxy_that_is_named_still_encrypted(authority: Authority, proxy: Server) -> None:
    environment = {"AWS_CA_BUNDLE": str(authority.bundle), "HTTPS_PROXY": proxy.url}
    with serving(answering(ok(b"yes")), authority.context()) as server:
        assert _get(server, environment) == b"yes"
        assert len(proxy.requests) == 1
        assert proxy.requests[0].startswith(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n".encode())
        assert _get(server, {**environment, "NO_PROXY": "127.0.0.1"}) == b"yes"
    assert len(proxy.requests) == 1


def test_a_proxy_with_a_password_is_given_it(authority: Authority, proxy: Server) -> None:
    url = proxy.url.replace("//", "//me:p%40ss@")
    with serving(answering(ok(b"yes")), authority.context()) as server:
        _get(server, {"AWS_CA_BUNDLE": str(authority.bundle), "https_proxy": url})
    assert b"\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n" in proxy.requests[0]


def test_a_proxy_that_refuses_is_a_failed_connection() -> None:
    refusal: Script = answering(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    endpoint = Endpoint("https", "example.com", 443, is_aws=True)
    with serving(refusal) as proxy:
        transport = Transport({"HTTPS_PROXY": proxy.url})
        with pytest.raises(ConnectionFailedError, match="the proxy answers 403"):
            transport.send(endpoint, "GET", "/", [], b"", Deadline.after(5))


@pytest.mark.parametrize("url", ["https://proxy", "ftp://proxy", "http://", "http://proxy:0"])
def test_a_proxy_that_is_none_is_told(url: str) -> None:
    with pytest.raises(MisconfiguredError) as failed:
        proxy_for(endpoint_at("https://a"), {"https_proxy": url})
    assert failed.value.detail.startswith("HTTPS_PROXY ")


def test_no_proxy_counts_as_it_does_for_the_standard_library() -> None:
    chance = random.Random(3)
    names = ["a.com", ".a.com", "b.a.com", "com", "10.0.0.1", "a.com:443", "a.com:8443", " A.COM ", "", "xa.com"]
    hosts = ["a.com", "b.a.com", "xa.com", "10.0.0.1", "a.com.org", "localhost"]
    seen = set()
    for _ in range(500):
        without = chance.choice((",".join(chance.sample(names, chance.randint(0, 3))), "*"))
        host, port = chance.choice(hosts), chance.choice((443, 8443))
        where = host if port == 443 else f"{host}:{port}"
        bypassed = proxy_bypass_environment(where, {"no": without})
        found = proxy_for(endpoint_at(f"https://{where}"), {"https_proxy": "proxy:3128", "no_proxy": without})
        if port == 443 and ":443" in without:
            continue  # of no use: the standard library sees no port here
        assert (found is None) == bool(bypassed), (where, without)
        seen.add(found is None)
    assert seen == {True, False}
    assert proxy_for(endpoint_at("http://a.com"), {"https_proxy": "proxy:3128"}) is None
