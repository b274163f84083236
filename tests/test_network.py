"""No test reaches the network, whichever way it tries."""

import socket

import pytest


@pytest.mark.parametrize("address", ["192.0.2.1", "bedrock-runtime.us-east-1.amazonaws.com", "::ffff:192.0.2.1"])
def test_a_connection_beyond_loopback_fails_the_test(address: str) -> None:
    with pytest.raises(pytest.fail.Exception, match="reached for the network"):
        socket.create_connection((address, 443), timeout=1)


def test_loopback_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
