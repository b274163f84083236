"""One process at a time keeps its sessions in a file: two would each write over what the other did."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from local.problem import ProblemError


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Within the context no other process holds the file. Raises ProblemError where one does.

    The file itself is replaced at each change, so what is locked lies beside it, and is gone afterwards.
    """
    beside = path.with_name(f"{path.name}.lock")
    descriptor = _locked(beside, path)
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
        os.close(descriptor)


def _locked(beside: Path, path: Path) -> int:
    """The descriptor of the locked file. It is looked at again, since who held it may have removed it meanwhile."""
    while True:
        try:
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ProblemError(f"The sessions can't be kept in {path}: {error.strerror}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), beside.stat()):
                return descriptor
        except FileNotFoundError:
            pass
        except OSError as error:
            holder = os.read(descriptor, 20).decode(errors="replace").strip()
            os.close(descriptor)
            who = f"process {holder}" if holder else "another process"
            raise ProblemError(
                f"{path} is in use by {who}, which keeps its sessions there: end it, keep these in another file, or ask it by "
                "--url if it is a `serve`."
            ) from error
        os.close(descriptor)
