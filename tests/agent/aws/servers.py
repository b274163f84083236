"""Servers on loopback that answer bytes as they stand, plain or over TLS, and certificates made for them."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from agent.aws.endpoints import Endpoint

Script = Callable[[socket.socket, bytes], None]
"""What a server does with a request: the connection, and head and body as they came. It may end the connection."""


@dataclass
class Server:
    """A server that was started. `requests` came in this order, over so many `connections`."""

    port: int
    scheme: str
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def endpoint(self, host: str = "127.0.0.1", *, is_aws: bool = False) -> Endpoint:
        from agent.aws.endpoints import Endpoint  # the benchmark has these servers, too, without the function

        return Endpoint(self.scheme, host, self.port, is_aws=is_aws)


@contextmanager
def serving(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server, each of whose connections is served by the script, request after request, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener.getsockname()[1], "https" if tls else "http")

        def accept() -> None:
            while True:
                try:
                    opened, _ = listener.accept()
                except OSError:
                    return
                server.connections += 1
                threading.Thread(target=serve, args=(opened,), daemon=True).start()

        def serve(opened: socket.socket) -> None:
            opened.settimeout(10)
            with suppress(OSError), opened:
                connection = tls.wrap_socket(opened, server_side=True) if tls else opened
                with connection:
                    while request := _request(connection):
                        server.requests.append(request)
                        script(connection, request)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            thread.join()


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65_536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    sizes = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    wanted = int(sizes[0]) if sizes else 0
    while len(body) < wanted:
        piece = connection.recv(65_536)
        if not piece:
            return b""
        body += piece
    return head + b"\r\n\r\n" + body


def answering(data: bytes, *, close: bool = False) -> Script:
    """A script that answers these bytes."""

    def script(connection: socket.socket, request: bytes) -> None:
        connection.sendall(data)
        if close:
            connection.shutdown(socket.SHUT_RDWR)

    return script


def ok(body: bytes, **headers: str) -> bytes:
    """A whole answer; a header's underscores stand for hyphens."""
    told = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{told}\r\n".encode() + body


@dataclass(frozen=True)
class Authority:
    """A certificate authority of a test. `is_lax` leaves out what RFC 5280 wants and companies forget."""

    folder: Path
    is_lax: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "_key", ec.generate_private_key(ec.SECP256R1()))
        object.__setattr__(self, "_name", x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Test {id(self)}")]))
        builder = self._begun(self._name, self._key.public_key(), days=30)  # type: ignore[attr-defined]
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=not self.is_lax)
        if not self.is_lax:
            usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
            identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())  # type: ignore[attr-defined]
            builder = builder.add_extension(identifier, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())  # type: ignore[attr-defined]
        self.bundle.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    @property
    def bundle(self) -> Path:
        """Its own certificate."""
        return self.folder / f"authority-{id(self)}.pem"

    def context(self, host: str = "127.0.0.1", *, days: int = 1) -> ssl.SSLContext:
        """A server's context with a certificate for a host, which ends after so many days."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        try:
            shown: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            shown = x509.DNSName(host)
        builder = self._begun(name, key.public_key(), days=days)
        builder = builder.add_extension(x509.SubjectAlternativeName([shown]), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        if not self.is_lax:
            public = self._key.public_key()  # type: ignore[attr-defined]
            identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(public)
            builder = builder.add_extension(identifier, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())  # type: ignore[attr-defined]
        file = self.folder / f"server-{id(key)}.pem"
        file.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(file)
        return context

    def _begun(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, days: int) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)  # type: ignore[attr-defined]
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=10))
            .not_valid_after(now + datetime.timedelta(days=days))
        )
