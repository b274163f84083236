"""`make new`: makes a clone one's own. The sample agent goes, a small one comes, and the README of the engine moves to docs/.

What git doesn't hold is never deleted or overwritten: then nothing is done at all.
"""

import re
import sys
from pathlib import Path

from local.git import READMES, Git
from local.problem import ProblemError

ROOT = Path(__file__).parent.parent
STARTER = Path(__file__).parent / "starter"
# The folders of the sample agent.
SAMPLE = ("lambda/my_agent", "events", "tests/my_agent")
NEXT = """This is your agent now. Look at what was changed with `git status`, then:
  git add -A && git commit -m "My agent"
  make demo     # asks the event of events/
  make chat     # edit lambda/my_agent/system_prompt.md and tools/offices.py meanwhile: they are loaded again
  make test ARGS=tests/my_agent   # your tests; without ARGS the engine's, too
  make synth    # what `make deploy` would deploy"""
# A link's target or an image's source that is no address, no anchor and no absolute path.
_LINK = re.compile(r"(\]\(|\b(?:href|src|srcset)=\")(?![a-z]+:|#|/)([^)\"\s]+)")


def make_new(root: Path = ROOT) -> None:
    """Does it, or raises ProblemError with the reason why not, before anything was changed."""
    git = Git(root)
    if (root / READMES["README.md"]).exists():
        raise ProblemError(f"`make new` has run here before: {READMES['README.md']} is there")
    git.refuse_changes()
    found = [path.relative_to(STARTER) for path in sorted(STARTER.rglob("*")) if path.is_file()]
    written = [path for path in found if "__pycache__" not in path.parts]
    readmes = {old: new for old, new in READMES.items() if (root / old).exists()}
    _refuse_untracked(git, [*map(str, written), *readmes, *READMES.values()])
    for name in git.paths("ls-files", "-z", *SAMPLE):
        (root / name).unlink()
    for old, new in readmes.items():
        text = (root / old).read_text(encoding="utf-8")
        (root / new).write_text(moved(text), encoding="utf-8")
        (root / old).unlink()
    for path in written:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((STARTER / path).read_bytes())


def moved(readme: str) -> str:
    """The text of a README at the root, with its links put right for docs/."""

    def target(link: re.Match[str]) -> str:
        path, anchor = link[2].partition("#")[::2]
        named = READMES.get(path, "").removeprefix("docs/")
        return (
            link[1]
            + (named or (path.removeprefix("docs/") if path.startswith("docs/") else f"../{path}"))
            + (f"#{anchor}" if anchor else "")
        )

    return _LINK.sub(target, readme)


def _refuse_untracked(git: Git, paths: list[str]) -> None:
    others = git.paths("ls-files", "-z", "--others", "--exclude-standard", *SAMPLE)
    tracked = set(git.paths("ls-files", "-z"))
    # of those that git is told to ignore, only what would be overwritten matters: nothing else is touched
    others += [path for path in paths if (git.root / path).exists() and path not in tracked]
    if others:
        told = ", ".join(dict.fromkeys(others[:5]))
        raise ProblemError(
            f"git doesn't hold these files, so that they would be lost, commit or move them first: {told}"
        )


def main() -> int:
    """0, or 1 with the reason on stderr."""
    try:
        make_new()
    except ProblemError as error:
        print(f"new: {error}", file=sys.stderr)
        return 1
    print(NEXT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
