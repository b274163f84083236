"""Imports point one way, the core knows neither AWS nor the environment, and the three trees know each other as they may."""

import ast
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_LAMBDA = _ROOT / "lambda"
# A module may import from the layers above its own in this list, and from nothing else of lambda/.
_LAYERS = (
    ("agent.errors",),
    ("agent.deadline", "agent.messages"),
    ("agent.ports", "agent.aws"),
    ("agent.request_fields", "agent.listening"),
    ("agent.settings",),
    ("agent.tooling",),
    ("agent.tools",),
    ("agent.turn",),
    ("agent.sessions",),
    ("agent.edge", "agent.adapters"),
    ("handler",),
)
_LAYER = {name: number for number, names in enumerate(_LAYERS) for name in names}
# The rooms, in which a module may import from its own, too.
_PACKAGES = (
    "agent.aws",
    "agent.tooling",
    "agent.tools",
    "agent.turn",
    "agent.sessions",
    "agent.edge",
    "agent.adapters",
)
_BEYOND_STANDARD = {
    "agent": {"msgspec"},
    "agent.aws": {"botocore"},  # within the one function that needs it
    "agent.adapters": {"botocore", "boto3", "aws_lambda_powertools"},
}
_CALLS_OUTSIDE = ("agent.aws", "agent.adapters", "agent.tools", "handler")


def _modules(folder: Path) -> list[tuple[str, Path]]:
    return [
        (".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"), path)
        for path in sorted(folder.rglob("*.py"))
        if "node_modules" not in path.parts  # what setting up puts there is not ours
    ]


def _imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever in it; of `from a import b` the module a.b where that is one."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            module = str(node.module)
            inner = {f"{module}.{alias.name}" for alias in node.names}
            submodules = {name for name in inner if (_LAMBDA / Path(*name.split("."))).with_suffix(".py").exists()}
            found |= submodules if submodules else {module}
    return found


def _place(module: str) -> str:
    return next((package for package in _PACKAGES if module == package or module.startswith(package + ".")), module)


_MODULES = [
    (module, path)
    for module, path in _modules(_LAMBDA)
    if module != "agent" and not module.startswith("my_agent.")  # which is the user's
]


@pytest.mark.parametrize(("module", "path"), _MODULES, ids=[module for module, _ in _MODULES])
def test_imports_point_one_way(module: str, path: Path) -> None:
    place = _place(module)
    assert place in _LAYER, f"{module} needs a layer in this test"
    ours = {name for name in _imports(path) if name.split(".")[0] in ("agent", "handler")}
    for name in ours:
        other = _place(name)
        within = other == place and place in _PACKAGES
        assert within or _LAYER[other] < _LAYER[place], f"{module} must not import {name}"
        assert other != "agent.aws" or place in _CALLS_OUTSIDE, f"{module} must not call anything itself"


@pytest.mark.parametrize("path", sorted((_LAMBDA / "agent" / "aws").glob("*.py")), ids=lambda path: path.stem)
def test_the_signed_client_loads_no_sdk_with_itself(path: Path) -> None:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
            assert not any(name.startswith(("botocore", "boto3")) for name in names)


@pytest.mark.parametrize(("module", "path"), _MODULES, ids=[module for module, _ in _MODULES])
def test_only_adapters_import_aws_and_only_the_handler_the_environment(module: str, path: Path) -> None:
    roots = {name.split(".")[0] for name in _imports(path)} - {"agent", "handler"}
    if module == "agent.errors":
        assert _imports(path) == set()
    if module == "handler":
        return
    allowed = _BEYOND_STANDARD["agent"] | _BEYOND_STANDARD.get(_place(module), set())
    if _place(module) != "agent.tools":  # opt-in tools bring their own requirements
        assert roots <= set(sys.stdlib_module_names) | allowed
    if _place(module) != "agent.tools":  # which may have settings of their own
        assert "os" not in roots
    assert not roots & {"local", "infra", "tests"}
    if _place(module) not in ("agent.tools", "agent.adapters", "agent.aws"):
        assert not roots & _BEYOND_STANDARD["agent.adapters"]


@pytest.mark.parametrize(("module", "path"), _MODULES, ids=[module for module, _ in _MODULES])
def test_the_engine_knows_the_users_folder_only_as_a_path(module: str, path: Path) -> None:
    assert not {name for name in _imports(path) if name.split(".")[0] == "my_agent"}


def test_the_package_itself_imports_nothing() -> None:
    assert _imports(_LAMBDA / "agent" / "__init__.py") == set()


_DEPLOYING = [*_modules(_ROOT / "infra"), ("app", _ROOT / "app.py")]


@pytest.mark.parametrize("path", [path for _, path in _DEPLOYING], ids=[module for module, _ in _DEPLOYING])
def test_the_deployment_knows_the_function_only_as_a_path(path: Path) -> None:
    assert not {name.split(".")[0] for name in _imports(path)} & {"agent", "handler", "local", "tests"}
