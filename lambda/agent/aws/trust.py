"""Whose certificates are believed, and which proxy a call goes through, by the environment as botocore reads it.

To load the whole store costs some 45 ms of a cold start, Amazon's five roots 5: they come first for AWS's own hosts.
"""

import ssl
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from agent.aws.endpoints import Endpoint, endpoint_at
from agent.errors import MisconfiguredError

# Amazon Root CA 1 to 4 and Starfield Services Root G2, until 2037 or later. https://www.amazontrust.com/repository/
_ROOTS = Path(__file__).with_name("amazon_roots.pem")


class Trust:
    """The TLS contexts of a process, each made at first use. Raises MisconfiguredError for a bundle that can't be read."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        bundle = environment.get("AWS_CA_BUNDLE") or environment.get("REQUESTS_CA_BUNDLE")
        # a company's own authority: for AWS's hosts it alone, as botocore has it
        self._for_aws = (partial(_company, bundle),) if bundle else (_amazon, _everyone)
        self._for_others = (partial(_company, bundle, beside_others=True) if bundle else _everyone,)
        self._made: dict[Callable[[], ssl.SSLContext], ssl.SSLContext] = {}

    def contexts(self, endpoint: Endpoint) -> Iterator[ssl.SSLContext]:
        """What to try in turn, where a certificate is not believed."""
        for make in self._for_aws if endpoint.is_aws else self._for_others:
            self._made[make] = context = self._made.get(make) or make()
            yield context


def _amazon() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=_ROOTS.read_text(encoding="ascii"))


def _everyone() -> ssl.SSLContext:
    context, store, sdk = ssl.create_default_context(), ssl.get_default_verify_paths(), find_spec("botocore")
    if not (store.cafile or store.capath) and sdk and sdk.origin:  # python.org's builds for macOS have no roots
        context.load_verify_locations(Path(sdk.origin).with_name("cacert.pem"))
    return context


def _company(bundle: str, *, beside_others: bool = False) -> ssl.SSLContext:
    file, folder = (None, bundle) if Path(bundle).is_dir() else (bundle, None)
    try:
        if beside_others:
            context = _everyone()
            context.load_verify_locations(file, folder)
        else:
            context = ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ssl.SSLError) as error:
        raise MisconfiguredError(detail=f"AWS_CA_BUNDLE is {bundle!r}, which can't be read: {error}.") from error
    # Python 3.13 turned it on, and companies' own authorities rarely keep all of RFC 5280 (cpython#138193)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def proxy_for(endpoint: Endpoint, environment: Mapping[str, str]) -> Endpoint | None:
    """The proxy that https_proxy names, unless no_proxy names the host. Raises MisconfiguredError for one that is none."""
    url, without = (
        environment.get(name) or environment.get(name.upper()) or "" for name in ("https_proxy", "no_proxy")
    )
    if endpoint.scheme != "https" or not url.strip():
        return None
    hosts = (endpoint.host, f"{endpoint.host}:{endpoint.port}")
    for name in (each.strip().lstrip(".").lower() for each in without.split(",")):
        if name == "*" or (name and any(host == name or host.endswith(f".{name}") for host in hosts)):
            return None
    try:
        proxy = endpoint_at(url if "://" in url else f"http://{url}")
    except ValueError as error:
        raise MisconfiguredError(detail=f"HTTPS_PROXY is {error}.") from error
    if proxy.scheme != "http":
        raise MisconfiguredError(detail="HTTPS_PROXY must begin with http://: TLS to a proxy is not supported.")
    return proxy
