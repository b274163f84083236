"""Which route a request meets."""

import pytest

from local.routes import compile_routes, find_route

ROUTES = compile_routes(["$default", "ANY /files/{path+}", "GET /files/{name}", "GET /files/list", "POST /files/list"])


@pytest.mark.parametrize(
    ("method", "path", "key", "parameters"),
    [
        ("GET", "/files/list", "GET /files/list", {}),
        ("GET", "/files/a%20b", "GET /files/{name}", {"name": "a b"}),
        ("GET", "/files/a/b", "ANY /files/{path+}", {"path": "a/b"}),
        ("PUT", "/files/a", "ANY /files/{path+}", {"path": "a"}),
        ("GET", "/elsewhere", "$default", {}),
    ],
)
def test_the_most_specific_route_is_taken(method: str, path: str, key: str, parameters: dict[str, str]) -> None:
    found = find_route(ROUTES, method, path)
    assert found is not None
    assert (found[0].key, found[1]) == (key, parameters)


@pytest.mark.parametrize(("method", "path"), [("GET", "/chat"), ("POST", "/chat/x"), ("POST", "/"), ("POST", "/chatX")])
def test_another_method_or_path_meets_no_route(method: str, path: str) -> None:
    assert find_route(compile_routes(["POST /chat"]), method, path) is None


def test_a_fixed_path_wins_over_any_order_of_the_keys() -> None:
    for keys in (["GET /{all}", "GET /chat"], ["GET /chat", "GET /{all}"]):
        found = find_route(compile_routes(keys), "GET", "/chat")
        assert found is not None
        assert found[0].key == "GET /chat"
