"""Where a service is: its endpoint in a region, or the one that AWS_ENDPOINT_URL names. botocore is the judge in the tests."""

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

import msgspec

from agent.errors import MisconfiguredError

# What a region's name begins with -> suffix, suffix of dual-stack hosts. https://docs.aws.amazon.com/general/latest/gr/rande.html
_PARTITIONS = {
    "cn-": ("amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    "eusc-": ("amazonaws.eu", "api.amazonwebservices.eu"),
    "us-gov-": ("amazonaws.com", "api.aws"),
    "": ("amazonaws.com", "api.aws"),
}


class Endpoint(msgspec.Struct, frozen=True):
    """A server: `path` stands before all paths and ends without a slash; `is_aws` has Amazon's roots trusted first.

    `login` is user:password, for a proxy; `connect` bounds connecting, in seconds.
    """

    scheme: str
    host: str
    port: int
    path: str = ""
    is_aws: bool = False
    login: str = ""
    connect: float = 3.0

    @property
    def authority(self) -> str:
        """As the Host header names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


_PORTS = {"https": 443, "http": 80}


def endpoint_at(url: str, *, is_aws: bool = False) -> Endpoint:
    """The endpoint of a URL. Raises ValueError for one that is none, or neither http nor https."""
    parts = urlsplit(url.strip())
    if parts.scheme not in _PORTS or not parts.hostname or parts.port == 0:
        raise ValueError("not a URL that begins with https:// or http://")
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
    login = unquote(f"{parts.username}:{parts.password or ''}") if parts.username else ""
    port = parts.port or _PORTS[parts.scheme]
    return Endpoint(parts.scheme, host, port, parts.path.rstrip("/"), is_aws, login)


def endpoint_of(service: str, region: str, environment: Mapping[str, str]) -> Endpoint:
    """The service's endpoint in the region. Raises MisconfiguredError for a URL in the environment that is none."""
    if environment.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() != "true":
        for name in (f"AWS_ENDPOINT_URL_{_variable(service)}", "AWS_ENDPOINT_URL"):
            if url := environment.get(name):
                try:
                    return endpoint_at(url, is_aws=True)
                except ValueError as error:
                    raise MisconfiguredError(detail=f"{name} is {url!r}: {error}.") from error
    dual = environment.get("AWS_USE_DUALSTACK_ENDPOINT", "").lower() == "true"
    fips = environment.get("AWS_USE_FIPS_ENDPOINT", "").lower() == "true"
    return Endpoint("https", _host(service, region, dual, fips), 443, is_aws=True)


def _variable(service: str) -> str:
    # as the service id has it: "Bedrock Runtime", "Secrets Manager"
    return "SECRETS_MANAGER" if service == "secretsmanager" else service.upper().replace("-", "_")


def _host(service: str, region: str, dual: bool, fips: bool) -> str:
    begins = next(name for name in _PARTITIONS if region.startswith(name))
    if service == "secretsmanager":  # these hosts answer on both stacks anyway
        dual = dual and (begins == "eusc-" or (fips and begins == "cn-"))
    # the plain host is FIPS's already
    fips = fips and not (begins == "us-gov-" and not dual and service in ("dynamodb", "sns"))
    return f"{service}{'-fips' if fips else ''}.{region}.{_PARTITIONS[begins][dual]}"
