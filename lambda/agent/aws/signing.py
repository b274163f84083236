"""AWS Signature Version 4 in the Authorization header, for every service but S3.

A path goes over the wire encoded once, and into the signature encoded twice: what no stand-in checks, AWS answers with 403.
See https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

import hashlib
import hmac
import time
from collections.abc import Sequence
from urllib.parse import quote

import msgspec

Headers = Sequence[tuple[str, str]]


class Credentials(msgspec.Struct, frozen=True):
    """An access key; `token` is blank for one that does not expire."""

    access_key: str
    secret_key: str
    token: str = ""


class Signer:
    """Signs for one service in one region."""

    def __init__(self, service: str, region: str) -> None:
        self._scope = f"{region}/{service}/aws4_request"
        # one tuple, so that a thread sees all of it or nothing
        self._key = ("", "", b"")

    def signature(
        self, method: str, target: str, headers: Headers, body: bytes, credentials: Credentials, now: float
    ) -> dict[str, str]:
        """The headers to add. `target` is path and query as they are sent, `now` in epoch seconds.

        All of `headers` are signed, Host among them: what proxies and tracers may change stays out of them.
        """
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
        added = {"X-Amz-Date": stamp}
        if credentials.token:
            added["X-Amz-Security-Token"] = credentials.token
        values: dict[str, list[str]] = {}
        for name, value in (*headers, *added.items()):
            values.setdefault(name.lower(), []).append(" ".join(value.split()))
        names = ";".join(sorted(values))
        lines = "".join(f"{name}:{','.join(values[name])}\n" for name in sorted(values))
        path, _, query = target.partition("?")
        digest = hashlib.sha256(body).hexdigest()
        canonical = f"{method}\n{_canonical_path(path)}\n{_canonical_query(query)}\n{lines}\n{names}\n{digest}"
        scope = f"{stamp[:8]}/{self._scope}"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(self._signing_key(credentials.secret_key, stamp[:8]), text.encode(), "sha256").hex()
        added["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        )
        return added

    def _signing_key(self, secret_key: str, day: str) -> bytes:
        if self._key[:2] != (secret_key, day):
            key = f"AWS4{secret_key}".encode()
            for text in (day, *self._scope.split("/")):
                key = hmac.digest(key, text.encode(), "sha256")
            self._key = (secret_key, day, key)
        return self._key[2]


def _canonical_path(path: str) -> str:
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del kept[-1:]
        elif part not in ("", "."):
            kept.append(part)
    last = "/" if kept and path.endswith("/") else ""
    return quote("/" + "/".join(kept) + last, safe="/~")


def _canonical_query(query: str) -> str:
    pairs = sorted(tuple(pair.partition("=")[::2]) for pair in query.split("&")) if query else ()
    return "&".join(f"{name}={value}" for name, value in pairs)
