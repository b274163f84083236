"""Every test runs without AWS: dummy credentials, no profile or endpoint of the developer, no network but loopback."""

import ipaddress
import os
import sys

import pytest

from local.testing import agent, agent_choices  # noqa: F401 - the fixtures for tests of one's own

# Done at import: boto3 reads its environment when a client is made, which test modules may do at import too.
for name in [n for n in os.environ if n.startswith(("AWS_", "POWERTOOLS_")) or n.lower().endswith("_proxy")]:
    del os.environ[name]
os.environ.update(
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",
    AWS_SESSION_TOKEN="testing",
    # Lambda sets both; boto3 reads the second.
    AWS_REGION="us-east-1",
    AWS_DEFAULT_REGION="us-east-1",
    AWS_CONFIG_FILE=os.devnull,
    AWS_SHARED_CREDENTIALS_FILE=os.devnull,
    AWS_EC2_METADATA_DISABLED="true",
)


def _is_loopback(host: object) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(name)).is_loopback
    except ValueError:
        return False


def _refuse_network(event: str, args: tuple[object, ...]) -> None:
    """Audit hook (PEP 578): sees every connection of this process, whichever library makes it."""
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if not _is_loopback(host):
        # Not an Exception, so that no `except Exception` turns it into an error the test may expect.
        pytest.fail(f"a test reached for the network: {host}")


sys.addaudithook(_refuse_network)
