"""`make update`: merges a version of the engine, and keeps the user's side of what is the user's."""

import argparse
import sys
from pathlib import Path

from local.git import READMES, USERS, Git
from local.new import ROOT, moved
from local.problem import ProblemError

_IDENTITY = ("-c", "user.name=make update", "-c", "user.email=make-update@localhost")


def update(version: str, source: str, root: Path = ROOT) -> str:
    """Merges the version (a tag, branch or commit) of a remote or address, and commits; returns what was merged.

    Raises ProblemError: before anything was changed, or where files of the engine that were edited here are in conflict, which
    are left for the user to resolve.
    """
    git = Git(root)
    git.refuse_changes()
    if _is_merging(git):
        raise ProblemError("a merge is under way: end it first, with `git commit` or `git merge --abort`")
    git.ask("fetch", "--quiet", source, version)
    merged = git.ask("rev-parse", "FETCH_HEAD").strip()
    succeeded, said = git.run(*_IDENTITY, "merge", "--no-commit", "--no-ff", merged)
    if not _is_merging(git):
        if succeeded:
            return f"{version}: nothing new"
        raise ProblemError(f"{version} can't be merged: {said.strip()}")
    _keep_ours(git)
    conflicts = git.paths("diff", "--name-only", "-z", "--diff-filter=U")
    if conflicts:
        raise ProblemError(
            f"these files of the engine were edited here: {', '.join(conflicts)}. Resolve them, `git add` them, "
            "and `git commit`; or give it up with `git merge --abort`"
        )
    git.ask(*_identity(git), "commit", "--quiet", "--no-verify", "-m", f"Update the engine to {version}")
    return f"{version} ({merged[:12]})"


def _keep_ours(git: Git) -> None:
    """Has the user's paths be as they were, and the engine's READMEs in docs/ as the version has them."""
    is_new = (git.root / READMES["README.md"]).exists()
    for path in (*USERS, *(READMES if is_new else ())):
        held, merged = git.paths("ls-tree", "-r", "-z", "--name-only", "HEAD", path), git.paths("ls-files", "-z", path)
        git.ask("reset", "--quiet", "HEAD", "--", path)
        for name in set(merged) - set(held):
            (git.root / name).unlink(missing_ok=True)
        if held:
            git.ask("restore", "--", path)
    for old, new in READMES.items() if is_new else ():
        is_there, text = git.run("show", f"MERGE_HEAD:{old}")
        if is_there:
            (git.root / new).write_text(moved(text), encoding="utf-8")
            git.ask("add", "--", new)


def _is_merging(git: Git) -> bool:
    return git.run("rev-parse", "--quiet", "--verify", "MERGE_HEAD")[0]


def _identity(git: Git) -> tuple[str, ...]:
    return () if git.run("config", "user.email")[0] else _IDENTITY


def main(arguments: list[str]) -> int:
    """0, or 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="make update", description=__doc__)
    parser.add_argument("version", nargs="?", help="a tag, branch or commit of the engine")
    parser.add_argument(
        "--source", default="", help="a remote or address (default: upstream, where it is a remote, else origin)"
    )
    given = parser.parse_args(arguments)
    if not given.version:
        print(
            "update: VERSION says what to merge, such as `make update VERSION=main`: a tag or branch", file=sys.stderr
        )
        return 1
    try:
        source = given.source or ("upstream" if Git(ROOT).run("remote", "get-url", "upstream")[0] else "origin")
        print(f"Merged {update(given.version, source)}. CHANGELOG.md tells what changed; then: make setup test")
    except ProblemError as error:
        print(f"update: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
