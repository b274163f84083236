"""The bundle's fingerprint: the same on every machine, and another as soon as anything that shapes the bundle changes."""

import importlib.util
import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

import infra.bundle
from infra.bundle import Bundle
from infra.compiler import Compiler


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    source = tmp_path / "source"
    (source / "agent").mkdir(parents=True)
    (source / "handler.py").write_text("x = 1\n")
    (source / "agent" / "prompt.md").write_text("Be kind.\n")
    lock = tmp_path / "runtime.lock"
    lock.write_text("six==1.17.0 --hash=sha256:00\n")
    return Bundle(source, (lock,), "aarch64", "3.13", None)


def edit_source(bundle: Bundle) -> Bundle:
    # Of the same size, and with the same time: neither may be what tells.
    (bundle.source / "handler.py").write_text("x = 2\n")
    return bundle


def rename_source(bundle: Bundle) -> Bundle:
    (bundle.source / "handler.py").rename(bundle.source / "handle.py")
    return bundle


def edit_lock(bundle: Bundle) -> Bundle:
    bundle.locks[0].write_text("six==1.17.0 --hash=sha256:01\n")
    return bundle


CHANGES: dict[str, Callable[[Bundle], Bundle]] = {
    "source": edit_source,
    "name of a source": rename_source,
    "lock": edit_lock,
    "another lock": lambda bundle: replace(bundle, locks=bundle.locks * 2),
    "processor": lambda bundle: replace(bundle, machine="x86_64"),
    "machine": lambda bundle: replace(bundle, machine=None),
    "python": lambda bundle: replace(bundle, python="3.14"),
    "compiled": lambda bundle: replace(bundle, compiler=Compiler("python3.13", "3.13.0")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_shapes_the_bundle_changes_its_hash(bundle: Bundle, change: str) -> None:
    before = bundle.fingerprint()
    assert CHANGES[change](bundle).fingerprint() != before


@pytest.mark.parametrize("edited", ["bundle.py", "compiler.py"])
def test_another_bundler_changes_the_hash(bundle: Bundle, tmp_path: Path, edited: str) -> None:
    for file in ("bundle.py", "compiler.py"):
        shutil.copy(Path(infra.bundle.__file__).with_name(file), tmp_path)
    spec = importlib.util.spec_from_file_location("bundler", tmp_path / "bundle.py")
    assert spec
    assert spec.loader
    bundler = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bundler)
    copied = bundler.Bundle(*(getattr(bundle, item.name) for item in fields(bundle)))
    assert copied.fingerprint() == bundle.fingerprint()
    with (tmp_path / edited).open("a") as changed:
        changed.write("\n")
    assert copied.fingerprint() != bundle.fingerprint()


def test_another_version_of_the_compiling_python_changes_the_hash_but_not_where_it_lies(bundle: Bundle) -> None:
    one = replace(bundle, compiler=Compiler("/usr/bin/python3.13", "3.13.0")).fingerprint()
    assert replace(bundle, compiler=Compiler("/opt/python3.13", "3.13.0")).fingerprint() == one
    assert replace(bundle, compiler=Compiler("/usr/bin/python3.13", "3.13.1")).fingerprint() != one


def test_files_that_are_not_bundled_do_not_change_the_hash(bundle: Bundle) -> None:
    before = bundle.fingerprint()
    (bundle.source / "__pycache__").mkdir()
    (bundle.source / "__pycache__" / "handler.cpython-311.pyc").write_bytes(b"\0")
    (bundle.source / ".DS_Store").write_bytes(b"\0")
    (bundle.source / "agent" / "tool.lock").write_text("")
    assert bundle.fingerprint() == before


def test_the_hash_is_the_same_wherever_the_project_lies(bundle: Bundle, tmp_path: Path) -> None:
    moved = bundle.source.rename(tmp_path / "elsewhere")
    assert replace(bundle, source=moved).fingerprint() == Bundle.fingerprint(replace(bundle, source=moved))
    before = replace(bundle, source=moved).fingerprint()
    again = moved.rename(tmp_path / "third")
    assert replace(bundle, source=again).fingerprint() == before
