"""What would keep the function from starting is told before it is deployed, tried with its own packages and environment alone."""

import sysconfig
from pathlib import Path

import pytest

from infra.bundling import SOURCE, function_bundle
from infra.compiler import BundleError
from infra.context import from_context
from infra.loading import Wheels, check_loading, why_not
from tests.infra.synthesis import context

SET_UP = {
    "MODEL_ID": "amazon.nova-lite-v1:0",
    "TABLE_NAME": "unknown",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}
HEAD = "import os\nfrom agent.tooling.tool import tool\n"
TOOL = '@tool\ndef find_order() -> str:\n    """Find it."""\n    return ""\n'
RUNTIME = (
    "aws_lambda_powertools",
    "msgspec",
    "jmespath",
    "typing_extensions.py",
    "typing_extensions",
    "boto3",
    "botocore",
)


@pytest.fixture
def function(tmp_path: Path) -> Path:
    """A function's folder with the engine as it is, and a user's folder of the test's own."""
    folder = tmp_path / "function"
    (folder / "my_agent" / "tools").mkdir(parents=True)
    (folder / "my_agent" / "system_prompt.md").write_text("You help.")
    for name in ("handler.py", "agent"):
        (folder / name).symlink_to(SOURCE / name)
    return folder


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """What is locked for the function, as this environment has it."""
    folder, packages = tmp_path / "wheels", Path(sysconfig.get_path("purelib"))
    folder.mkdir()
    for name in RUNTIME:
        if (packages / name).exists():
            (folder / name).symlink_to(packages / name)
    return folder


def tried(function: Path, wheels: Path, text: str, **environment: str) -> str | None:
    (function / "my_agent" / "tools" / "orders.py").write_text(HEAD + text)
    return why_not(function, wheels, {**SET_UP, **environment})


def test_a_function_that_starts_has_nothing_to_tell(function: Path, wheels: Path) -> None:
    assert tried(function, wheels, "import boto3\nTABLE = os.environ['ORDERS']\n" + TOOL, ORDERS="orders") is None


CANT = "The tool module orders can't be loaded: "
BROKEN = {
    "a name that is none": (
        "tabel\n",
        f"{CANT}NameError: name 'tabel' is not defined (my_agent/tools/orders.py, line 3).",
    ),
    "a package of the tests": (
        "import pytest\n",
        f"{CANT}ModuleNotFoundError: No module named 'pytest' (my_agent/tools/orders.py, line 3).",
    ),
    "a variable that is not the function's": (
        "os.environ['OF_THE_DEVELOPER']\n",
        f"{CANT}KeyError: 'OF_THE_DEVELOPER' (my_agent/tools/orders.py, line 3).",
    ),
    "credentials": (
        "import boto3\nassert boto3.Session().get_credentials(), 'none'\n",
        f"{CANT}AssertionError: none (my_agent/tools/orders.py, line 4).",
    ),
    "an end of the process": ("os._exit(7)\n", "its process ended with 7: "),
    "what is printed": (
        "print('hi')\n1 / 0\n",
        f"{CANT}ZeroDivisionError: division by zero (my_agent/tools/orders.py, line 4).",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "told"), BROKEN.values(), ids=BROKEN)
def test_what_keeps_a_function_from_starting_is_told_as_its_log_would(
    function: Path, wheels: Path, text: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_DEVELOPER", "x")
    assert tried(function, wheels, text) == told


@pytest.mark.slow
def test_a_setting_that_the_function_refuses_is_told_too(function: Path, wheels: Path) -> None:
    told = tried(function, wheels, TOOL, MAX_STEPS="many")
    assert told == "MAX_STEPS is 'many', but it must be a whole number from 1 to 1000."


@pytest.mark.slow
def test_the_wheels_of_a_bundle_are_installed_for_this_machine_and_are_enough(tmp_path: Path) -> None:
    bundle = function_bundle(from_context(context(tools="calculator,tickets")))
    check_loading(bundle, SET_UP, name="agent", region="us-east-1")
    assert (
        Wheels(bundle).fingerprint() != Wheels(function_bundle(from_context(context(tools="web_search")))).fingerprint()
    )
    with pytest.raises(BundleError, match=r"^The function would not start: TOOLS names luck, but"):
        check_loading(bundle, {**SET_UP, "TOOLS": "luck"}, name="agent", region="us-east-1")
