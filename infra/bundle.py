"""The function's bundle: its files, the locked wheels of its platform, and compiled files.

Made by pip alone, without Docker. The same on every machine: what pip writes about itself is removed. File times are
left as they are, since the CDK tells changed files by them.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from infra.compiler import BundleError, Compiler, compile_tree

# Of a package's metadata, the lines that differ between machines and installers.
INSTALLER_FILES = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
# Amazon Linux 2023 has glibc 2.34; a wheel for any older one runs on it.
MANYLINUX = ("manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014")


@dataclass(frozen=True)
class Bundle:
    """All that a bundle is made from."""

    source: Path
    locks: tuple[Path, ...]
    # "aarch64", "x86_64", or None for this machine's own processor and Python.
    machine: str | None
    # The function's Python, as "3.13".
    python: str
    compiler: Compiler | None
    # Files that are written for it: name -> text.
    written: Mapping[str, str] = field(default_factory=dict)

    def fingerprint(self) -> str:
        """A SHA-256 of everything that shapes the bundle; the same on every machine."""
        own = [Path(__file__), Path(__file__).with_name("compiler.py")]
        parts = {
            "source": {name: _digest(path) for name, path in self._files()},
            "locks": [_digest(lock) for lock in self.locks],
            "bundler": [_digest(path) for path in own],
            "platform": [self.machine or sys.platform, self.python if self.machine else sys.version],
            "written": dict(self.written),
            "compiler": asdict(self.compiler) | {"executable": None} if self.compiler else None,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def build(self, output: Path) -> None:
        """Fills an empty folder. Raises BundleError."""
        install(self, output)
        _trim(output)
        for name, path in self._files():
            target = output / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        for name, text in self.written.items():
            (output / name).write_text(text, encoding="utf-8")
        if self.compiler:
            compile_tree(self.compiler, output)
        # Lambda reads them as another user, whatever the umask here.
        for path in output.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)

    def _files(self) -> Iterator[tuple[str, Path]]:
        for path in sorted(self.source.rglob("*")):
            name = path.relative_to(self.source)
            hidden = any(part.startswith(".") or part == "__pycache__" for part in name.parts)
            if path.is_file() and not hidden and path.suffix not in {".lock", ".in", ".toml", ".pyc"}:
                yield name.as_posix(), path


def install(bundle: Bundle, output: Path) -> None:
    """Installs the wheels of a bundle into a folder. Raises BundleError."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-color",
        "--disable-pip-version-check",
        "--no-compile",
    ]
    command += ["--only-binary=:all:", "--require-hashes", "--no-deps", "--target", str(output)]
    if bundle.machine:
        command += ["--implementation", "cp", "--python-version", bundle.python]
        for platform in MANYLINUX:
            command += ["--platform", f"{platform}_{bundle.machine}"]
    for lock in bundle.locks:
        command += ["--requirement", str(lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        # pip's warnings come first; its error names the wheel, in some cases lines later.
        told = done.stderr.partition("ERROR: ")[2] or done.stderr
        platform = f"{bundle.machine}, Python {bundle.python}" if bundle.machine else "this machine"
        raise BundleError(f"The wheels of the function can't be had for {platform}: {told.strip()}")


def _trim(output: Path) -> None:
    """Removes what isn't needed at run time or differs between machines."""
    shutil.rmtree(output / "bin", ignore_errors=True)
    for metadata in output.glob("*.dist-info"):
        for name in INSTALLER_FILES:
            (metadata / name).unlink(missing_ok=True)
    for cache in list(output.rglob("__pycache__")):
        shutil.rmtree(cache)
    for typing_stub in output.rglob("*.pyi"):
        typing_stub.unlink()
    for unused in ("boto3/examples", "aws_lambda_powertools/event_handler"):
        shutil.rmtree(output / unused, ignore_errors=True)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
