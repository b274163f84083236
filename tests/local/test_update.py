"""`make update`: the engine's later version comes, and what is the user's stays as the user has it."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.git import USERS
from local.new import make_new
from local.problem import ProblemError
from local.update import main, update

ROOT = Path(__file__).parents[2]


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commit(folder: Path, text: str = "change") -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", text)


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """The engine's repository, small."""
    folder = tmp_path / "engine"
    for name, text in {
        "README.md": "# Engine\n\n[a](docs/a.md)\n",
        "docs/a.md": "a\n",
        "lambda/handler.py": "one\n",
        "lambda/my_agent/tools/fortune.py": "sample\n",
        "events/01-fortune.json": "{}\n",
        "tests/my_agent/test_fortune.py": "sample\n",
        "cdk.json": "{}\n",
        "app.py": "app\n",
    }.items():
        write(folder, name, text)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder, "engine")
    return folder


@pytest.fixture
def mine(engine: Path, tmp_path: Path) -> Path:
    """A clone of it that is the user's."""
    folder = tmp_path / "mine"
    git(tmp_path, "clone", "--quiet", str(engine), str(folder))
    make_new(folder)
    write(folder, "cdk.json", '{"mine": 1}\n')
    commit(folder, "mine")
    return folder


def held(folder: Path, *paths: str) -> dict[str, str]:
    names = git(folder, "ls-files", "-z", *paths).split("\0")
    return {name: (folder / name).read_text(encoding="utf-8") for name in names if name}


def test_the_engines_changes_come_and_the_users_files_stay(engine: Path, mine: Path) -> None:
    before = held(mine, *USERS, "README.md")
    write(engine, "lambda/handler.py", "two\n")
    write(engine, "lambda/agent/new.py", "new\n")
    for name in ("README.md", "cdk.json", "app.py", "lambda/my_agent/tools/fortune.py", "events/01-fortune.json"):
        write(engine, name, "# Engine 2\n\n[a](docs/a.md)\n")
    for name in ("lambda/my_agent/tools/more.py", "events/02-more.json", "tests/my_agent/test_more.py"):
        write(engine, name, "more\n")
    (engine / "docs" / "a.md").unlink()
    commit(engine)
    git(engine, "tag", "v2")
    assert update("v2", "origin", mine).startswith("v2 (")
    assert held(mine, *USERS, "README.md") == before
    assert held(mine, "lambda/handler.py", "lambda/agent") == {
        "lambda/handler.py": "two\n",
        "lambda/agent/new.py": "new\n",
    }
    assert not (mine / "docs" / "a.md").exists()
    assert (mine / "docs" / "readme.md").read_text(encoding="utf-8") == "# Engine 2\n\n[a](a.md)\n"
    assert git(mine, "status", "--porcelain") == ""
    assert git(mine, "log", "-1", "--format=%s %P").startswith("Update the engine to v2 ")
    assert update("v2", "origin", mine) == "v2: nothing new"


def test_a_second_update_takes_what_came_since(engine: Path, mine: Path) -> None:
    for text in ("two\n", "three\n"):
        write(engine, "lambda/handler.py", text)
        write(engine, "events/01-fortune.json", text)
        write(engine, "README.md", text)
        commit(engine)
        update("main", str(engine), mine)
        assert held(mine, "lambda/handler.py", "docs/readme.md") == {"lambda/handler.py": text, "docs/readme.md": text}


def test_a_file_of_the_engine_that_was_edited_is_left_to_the_user(engine: Path, mine: Path) -> None:
    write(mine, "lambda/handler.py", "mine\n")
    commit(mine)
    write(engine, "lambda/handler.py", "two\n")
    write(engine, "README.md", "two\n")
    commit(engine)
    with pytest.raises(ProblemError, match=r"were edited here: lambda/handler.py\. Resolve them"):
        update("main", "origin", mine)
    assert held(mine, "cdk.json") == {"cdk.json": '{"mine": 1}\n'}
    with pytest.raises(ProblemError, match="these files were changed"):
        update("main", "origin", mine)
    write(mine, "lambda/handler.py", "both\n")
    commit(mine, "resolved")
    assert update("main", "origin", mine) == "main: nothing new"


def test_before_new_has_run_the_readme_is_the_engines(engine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(engine), str(folder))
    write(folder, "lambda/my_agent/tools/fortune.py", "mine\n")
    commit(folder)
    write(engine, "lambda/my_agent/tools/fortune.py", "two\n")
    write(engine, "README.md", "two\n")
    commit(engine)
    update("main", "origin", folder)
    expected = {"README.md": "two\n", "lambda/my_agent/tools/fortune.py": "mine\n"}
    assert held(folder, *expected) == expected


def test_changed_files_and_unknown_versions_are_refused_before_anything_is_done(mine: Path) -> None:
    with pytest.raises(ProblemError, match="git fetch: "):
        update("v99", "origin", mine)
    write(mine, "cdk.json", "changed\n")
    with pytest.raises(ProblemError, match=r"these files were changed, commit or restore them first: cdk\.json"):
        update("main", "origin", mine)
    assert held(mine, "cdk.json") == {"cdk.json": "changed\n"}


def test_an_untracked_file_in_the_way_is_kept(engine: Path, mine: Path) -> None:
    write(mine, "lambda/agent/new.py", "mine\n")
    write(engine, "lambda/agent/new.py", "new\n")
    commit(engine)
    with pytest.raises(ProblemError, match="can't be merged"):
        update("main", "origin", mine)
    assert (mine / "lambda" / "agent" / "new.py").read_text() == "mine\n"


@pytest.fixture
def clones(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Two clones of this very repository, the second made new."""
    folders = (tmp_path / "theirs", tmp_path / "ours")
    for folder in folders:
        git(tmp_path, "clone", "--quiet", str(ROOT), str(folder))
    make_new(folders[1])
    commit(folders[1], "mine")
    yield folders
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)  # git may tidy up behind the merge


def test_without_a_version_it_is_said_how_to_name_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("update: VERSION says what to merge, such as `make update VERSION=")


@pytest.mark.slow
def test_a_version_that_changes_every_file_of_the_engine_merges_without_a_conflict(clones: tuple[Path, Path]) -> None:
    theirs, ours = clones
    users = (*USERS, "README.md", "README.ja.md")
    engine = set(git(theirs, "ls-files", "-z").split("\0")) - set(git(theirs, "ls-files", "-z", *users).split("\0"))
    for name in engine:
        with (theirs / name).open("ab") as file:
            file.write(b"\n# changed\n")
    commit(theirs)
    git(ours, "fetch", "--quiet", str(theirs), "HEAD")
    git(ours, "merge", "--quiet", "--no-edit", "FETCH_HEAD")
    assert len(engine) > 300
    assert all((ours / name).read_bytes() == (theirs / name).read_bytes() for name in engine)


@pytest.mark.slow
def test_a_version_that_changes_every_file_leaves_the_users_own_as_they_are(clones: tuple[Path, Path]) -> None:
    theirs, ours = clones
    before = held(ours, *USERS, "README.md")
    for name in filter(None, git(theirs, "ls-files", "-z").split("\0")):
        with (theirs / name).open("ab") as file:
            file.write(b"\n# changed\n")
    commit(theirs)
    git(theirs, "tag", "changed")
    update("changed", str(theirs), ours)
    assert held(ours, *USERS, "README.md") == before
    assert (ours / "docs" / "readme.md").read_text(encoding="utf-8").endswith("\n# changed\n")
    assert (ours / "lambda" / "handler.py").read_text(encoding="utf-8").endswith("\n# changed\n")
