"""Endpoints, judged by botocore's own rules, and by what it does with AWS_ENDPOINT_URL."""

from __future__ import annotations

import itertools
from typing import Any

import botocore.session
import pytest
from botocore.endpoint_provider import EndpointProvider

from agent.aws.endpoints import Endpoint, endpoint_at, endpoint_of
from agent.errors import MisconfiguredError

_SERVICES = ("dynamodb", "bedrock-runtime", "secretsmanager", "sns")
_PARTITIONS = ("aws", "aws-cn", "aws-us-gov", "aws-eusc")
_LOADER = botocore.session.get_session().get_component("data_loader")
_NEW = ("us-east-9", "eu-new-3", "cn-new-1", "us-gov-new-1")  # that nobody's list has yet


def _regions() -> list[str]:
    found = _LOADER.load_data("partitions")["partitions"]
    names = [name for each in found if each["id"] in _PARTITIONS for name in each["regions"]]
    return [name for name in names if not name.endswith("-global")]


@pytest.mark.parametrize("service", _SERVICES)
def test_endpoints_are_botocores_in_every_region(service: str) -> None:
    rules = _LOADER.load_service_model(service, "endpoint-rule-set-1")
    provider = EndpointProvider(rules, _LOADER.load_data("partitions"))
    # SNS's rules name its regions in one place
    regions = [*_regions(), *(name for name in _NEW if service != "sns" or "gov" not in name)]
    assert len(regions) > 35
    for region, dual, fips in itertools.product(regions, (False, True), (False, True)):
        wanted = provider.resolve_endpoint(Region=region, UseDualStack=dual, UseFIPS=fips).url
        environment = {"AWS_USE_DUALSTACK_ENDPOINT": str(dual), "AWS_USE_FIPS_ENDPOINT": str(fips).lower()}
        found = endpoint_of(service, region, environment)
        assert f"{found.scheme}://{found.authority}" == wanted
        assert found.is_aws


@pytest.mark.parametrize("service", _SERVICES)
@pytest.mark.parametrize(
    "environment",
    [
        {"AWS_ENDPOINT_URL": "http://localhost:4566"},
        {"AWS_ENDPOINT_URL": "https://vpce-1.example.com/prefix/"},
        {"AWS_ENDPOINT_URL": "http://all:1", "AWS_ENDPOINT_URL_DYNAMODB": "http://one:2"},
        {"AWS_ENDPOINT_URL": "http://all:1", "AWS_ENDPOINT_URL_SECRETS_MANAGER": "https://one"},
        {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://one:443", "AWS_ENDPOINT_URL_SNS": "http://[::1]:80"},
        {"AWS_ENDPOINT_URL": "http://all:1", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
        {"AWS_ENDPOINT_URL": "http://all:1", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false"},
        {"AWS_ENDPOINT_URL": ""},
    ],
)
def test_an_endpoint_in_the_environment_counts_as_it_does_for_botocore(
    service: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    client: Any = botocore.session.Session().create_client(service, region_name="us-east-1")
    found = endpoint_of(service, "us-east-1", environment)
    theirs = endpoint_at(client.meta.endpoint_url, is_aws=True)
    client.close()
    assert found == theirs


@pytest.mark.parametrize(
    "url", ["ftp://host", "localhost:8000", "https://", "http://host:70000", "http://host:0", "nonsense"]
)
def test_an_endpoint_that_is_none_is_told_by_the_name_of_its_variable(url: str) -> None:
    with pytest.raises(MisconfiguredError) as failed:
        endpoint_of("dynamodb", "us-east-1", {"AWS_ENDPOINT_URL_DYNAMODB": url})
    assert failed.value.detail.startswith(f"AWS_ENDPOINT_URL_DYNAMODB is {url!r}")


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://host", "host"),
        ("https://host:443/v1", "host"),
        ("http://host:443", "host:443"),
        ("http://[::1]:8000", "[::1]:8000"),
        ("http://HOST", "host"),
        ("http://bücher.example:81", "xn--bcher-kva.example:81"),
    ],
)
def test_the_host_header_names_a_port_that_is_not_the_usual_one(url: str, authority: str) -> None:
    assert endpoint_at(url).authority == authority


def test_endpoints_are_compared_by_all_that_a_connection_depends_on() -> None:
    assert endpoint_at("https://a") == Endpoint("https", "a", 443)
    assert endpoint_at("https://a") != endpoint_at("https://a", is_aws=True)
