"""The bundle: its contents, its size, and that it runs. Those that install wheels are slow."""

import hashlib
import io
import json
import os
import platform
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from agent.tooling.offered import offered
from infra.bundle import Bundle
from infra.bundling import function_bundle, made, offered_modules
from infra.choices import ConfigError
from infra.compiler import BundleError, Compiler, compile_tree, find_compiler
from infra.context import from_context
from tests.infra.synthesis import context

MEGABYTE = 1_000_000
THIS_PYTHON = Compiler(sys.executable, platform.python_version())


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A user's folder with tool modules, one of them locked."""
    tools = tmp_path / "my_agent" / "tools"
    tools.mkdir(parents=True)
    for name in ("invoices.py", "invoices.lock", "b.py", "_c.py"):
        (tools / name).write_text("")
    return tmp_path / "my_agent"


def bundle(chosen: object, own: Path) -> Bundle:
    return function_bundle(from_context(context(tools=chosen)), own=own)


def test_the_lock_of_a_tool_goes_along_where_the_tool_is_offered(own: Path) -> None:
    def locks(chosen: object) -> list[str]:
        return [lock.name for lock in bundle(chosen, own).locks]

    assert locks(None) == locks("*") == locks("b,invoices") == ["runtime.lock", "invoices.lock"]
    assert locks("*,web_search") == ["runtime.lock", "invoices.lock", "web_search.lock"]
    assert locks("b") == locks("") == ["runtime.lock"]


@pytest.mark.parametrize(
    ("wanted", "locked", "missing"),
    [
        ("Some_Package>=2\n# of theirs\nother[extra]\n", "some-package==2 \\\n    --hash=sha256:00\nother==1\n", None),
        ("\n# nothing yet\n", None, None),
        ("httpx\n", None, "httpx"),
        ("httpx\nanyio\n", "httpx==1 \\\n    # via anyio\n", "anyio"),
    ],
)
def test_packages_that_no_lock_has_stop_the_synth(
    own: Path, wanted: str, locked: str | None, missing: str | None
) -> None:
    (own / "tools" / "b.in").write_text(wanted)
    if locked is not None:
        (own / "tools" / "b.lock").write_text(locked)
    if missing is None:
        bundle("b", own)
        return
    with pytest.raises(BundleError) as raised:
        bundle("b", own)
    assert str(raised.value) == f"my_agent/tools/b.in: {missing} in no b.lock beside it: run `make lock`"


def test_the_sdk_is_in_the_bundle_where_that_is_chosen_and_nowhere_else(own: Path) -> None:
    def packages(**choices: object) -> str:
        [lock] = function_bundle(from_context(context(tools="", **choices)), own=own).locks
        return lock.read_text()

    assert "\nboto3==" in packages(sdk="bundle")
    assert "aws-lambda-powertools==" in packages(sdk="bundle")
    assert "boto" not in packages() + packages(sdk="runtime")


@pytest.mark.parametrize("chosen", ["b,luck", "luck,*"])
def test_a_tool_that_there_is_no_module_of_stops_the_synth(own: Path, chosen: str) -> None:
    with pytest.raises(ConfigError, match=r"but must be without luck: there is no such tool module$"):
        bundle(chosen, own)


def test_a_module_called_like_one_that_ships_stops_the_synth(own: Path) -> None:
    (own / "tools" / "tickets.py").write_text("")
    with pytest.raises(ConfigError, match="without tickets: one of yours and one that ships are called so"):
        bundle(None, own)


def test_the_deployment_offers_the_modules_that_the_function_does(own: Path) -> None:
    for chosen in (("*",), ("tickets", "*"), ()):
        assert offered_modules(chosen, own) == offered(chosen, own)


def test_the_secrets_of_offered_modules_go_along_and_shape_the_fingerprint(own: Path) -> None:
    without = bundle("b", own)
    assert without.written == {"tools.json": "{}\n"}
    (own / "tools" / "b.toml").write_text('[secrets]\nB_KEY = "b/key"\n[environment]\nB_TABLE = "x"\n')
    assert json.loads(bundle("b", own).written["tools.json"]) == {"b": {"secrets": {"B_KEY": "b/key"}}}
    assert bundle("b", own).fingerprint() != without.fingerprint()
    assert bundle("invoices", own).written == {"tools.json": "{}\n"}


def test_compiled_files_are_made_stopped_for_or_left_out_as_chosen() -> None:
    def compiler(pyc: str, found: Compiler | None) -> Compiler | None:
        return function_bundle(from_context(context(pyc=pyc)), find=lambda _version: found).compiler

    found = Compiler("python3.13", "3.13.0")
    assert (compiler("auto", found), compiler("require", found), compiler("off", found)) == (found, found, None)
    assert (compiler("auto", None), compiler("off", None)) == (None, None)
    with pytest.raises(ConfigError, match=r"^pyc is 'require', but must be .* no Python 3.13"):
        compiler("require", None)


def test_this_python_compiles_for_its_own_version() -> None:
    assert find_compiler(THIS_PYTHON.version.rpartition(".")[0]) == THIS_PYTHON
    assert find_compiler("2.0") is None


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def zipped(folder: Path, names: Iterable[str]) -> int:
    """Bytes of a zip of these files, made as the CDK makes it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name in names:
            file.write(folder / name, name)
    return len(archive.getvalue())


@pytest.mark.slow
def test_the_bundle_is_small_the_same_each_time_and_holds_what_runs(tmp_path: Path) -> None:
    bundle = function_bundle(from_context(context()))
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        bundle.build(tmp_path / name)
    files = contents(tmp_path / "first")
    assert files == contents(tmp_path / "second")
    sources = {name for name in files if not name.endswith(".pyc")}
    sizes = {"without .pyc": zipped(tmp_path / "first", sources), "with .pyc": zipped(tmp_path / "first", files)}
    print(sizes)  # `pytest -s` shows it
    assert sizes["without .pyc"] <= 1.5 * MEGABYTE
    assert sizes["with .pyc"] <= 3 * MEGABYTE
    assert (len(sources) < len(files)) == (bundle.compiler is not None)
    assert {"handler.py", "my_agent/system_prompt.md", "agent/aws/amazon_roots.pem", "msgspec/__init__.py"} <= sources
    assert not [name for name in files if name.startswith(("boto", "s3transfer", "urllib3"))]
    assert not [name for name in files if name.endswith((".pyi", "/RECORD", ".lock")) or name.startswith("bin/")]
    assert [name for name in files if name.endswith("aarch64-linux-gnu.so")]
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in (tmp_path / "first").rglob("*"))


@pytest.mark.parametrize(("architecture", "machine"), [("arm64", "aarch64"), ("x86_64", "x86_64")])
def test_the_wheels_are_for_the_functions_processor_or_for_this_machine(architecture: str, machine: str) -> None:
    assert function_bundle(from_context(context(architecture=architecture))).machine == machine
    here = function_bundle(from_context(context(architecture=architecture, bundle_for="machine")))
    assert (here.machine, here.compiler) == (None, None)


@pytest.mark.slow
def test_a_wheel_that_cannot_be_had_is_named_with_the_reason(tmp_path: Path) -> None:
    lock = tmp_path / "runtime.lock"
    lock.write_text("six==1.17.0 --hash=sha256:00\n")
    bundle = Bundle(tmp_path / "source", (lock,), "aarch64", "3.13", None)
    with pytest.raises(BundleError, match=r"(?s)for aarch64, Python 3.13:.*six.*sha256"):
        bundle.build(tmp_path / "output")


def test_compiled_files_are_the_same_from_any_folder(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "module.py").write_text("def f():\n    return {'a', 'b', 'c'}\n")
        compile_tree(THIS_PYTHON, tmp_path / name)
    files = contents(tmp_path / "first")
    assert len(files) == 2
    assert files == contents(tmp_path / "second")


def test_a_bundle_is_made_once_and_old_ones_go(tmp_path: Path) -> None:
    class Counting:
        count = 0

        def build(self, output: Path) -> None:
            self.count += 1
            (output / "file").write_text(str(self.count))

    bundle = Counting()
    for name in ("one", "one", "two", "three", "four", "four"):
        folder = made(bundle, tmp_path / name)
        # Their age counts, whatever the clock's steps are.
        os.utime(folder, (bundle.count, bundle.count))
    assert bundle.count == 4
    assert {path.name: (path / "file").read_text() for path in tmp_path.iterdir()} == {
        "two": "2",
        "three": "3",
        "four": "4",
    }


def test_a_bundle_that_broke_off_is_not_taken_for_whole(tmp_path: Path) -> None:
    class Breaking:
        def build(self, output: Path) -> None:
            (output / "half").write_text("")
            raise BundleError("no such wheel")

    with pytest.raises(BundleError, match="no such wheel"):
        made(Breaking(), tmp_path / "bundle")
    assert not list(tmp_path.iterdir())


def test_a_module_that_cannot_be_compiled_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    with pytest.raises(BundleError, match=r"(?s)can't compile the bundle: .*broken\.py"):
        compile_tree(THIS_PYTHON, tmp_path)


def test_the_locked_wheels_hold_on_every_platform() -> None:
    """pip reads a marker for the machine that bundles, not for the function's: the lock has none."""
    [lock] = function_bundle(from_context(context(pyc="off"))).locks
    assert ";" not in lock.read_text()
