"""What `make new` and `make update` ask git for."""

import subprocess
from pathlib import Path

from local.problem import ProblemError

# Whose they are: in these paths the engine's later changes don't count. The READMEs are the user's once `make new` has run.
USERS = ("lambda/my_agent", "events", "tests/my_agent", "cdk.json", "app.py")
READMES = {"README.md": "docs/readme.md", "README.ja.md": "docs/readme.ja.md"}


class Git:
    """The repository of a folder, which must be its top. Raises ProblemError where it is none."""

    def __init__(self, root: Path) -> None:
        self.root = root
        is_held, said = self.run("rev-parse", "--show-toplevel")
        if not is_held or Path(said.strip()).resolve() != root.resolve():
            raise ProblemError(
                f"{root} is no git repository of its own, and what git doesn't hold can't be brought back: {said}"
            )

    def run(self, *arguments: str) -> tuple[bool, str]:
        """Whether a command succeeded, and what it said."""
        command = ["git", "-C", str(self.root), "-c", "core.quotePath=false", *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise ProblemError("git is needed, and none is on the PATH") from None
        return not done.returncode, done.stdout if not done.returncode else (done.stdout + done.stderr)

    def ask(self, *arguments: str) -> str:
        """What a command said. Raises ProblemError where it failed."""
        succeeded, said = self.run(*arguments)
        if not succeeded:
            raise ProblemError(f"git {arguments[0]}: {said.strip()}")
        return said

    def paths(self, *arguments: str) -> list[str]:
        """The paths that a command listed, which is to end them with NUL."""
        return [path for path in self.ask(*arguments).split("\0") if path]

    def refuse_changes(self) -> None:
        """Raises ProblemError where a tracked file was changed."""
        changed = self.paths("diff", "--name-only", "-z", "HEAD")
        if changed:
            raise ProblemError(f"these files were changed, commit or restore them first: {', '.join(changed[:5])}")
