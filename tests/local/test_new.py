"""`make new`: a clone becomes one's own, and nothing that git doesn't hold is lost."""

import subprocess
from pathlib import Path

import pytest

from local.new import SAMPLE, STARTER, make_new, moved
from local.problem import ProblemError

README = "# Engine\n\nSee [a](docs/a.md), [tools](lambda/agent/tools/) and [日本語](README.ja.md#x).\n"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A small repository laid out as this one."""
    for name, text in {
        "README.md": README,
        "README.ja.md": "[English](README.md)\n",
        "docs/a.md": "a\n",
        "lambda/handler.py": "engine\n",
        "lambda/my_agent/system_prompt.md": "sample\n",
        "lambda/my_agent/tools/fortune.py": "sample\n",
        "events/01-fortune.json": "{}\n",
        "tests/my_agent/test_fortune.py": "sample\n",
        "cdk.json": "{}\n",
        ".gitignore": ".venv/\n__pycache__/\n*.secret\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "-m", "engine")
    return tmp_path


def files(folder: Path) -> set[str]:
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return {name for name in found if not name.startswith(".git/")}


def refusal(folder: Path) -> str:
    """The reason, where nothing was changed."""
    before = {name: (folder / name).read_bytes() for name in files(folder)}
    with pytest.raises(ProblemError) as raised:
        make_new(folder)
    assert {name: (folder / name).read_bytes() for name in files(folder)} == before
    return str(raised.value)


def test_the_sample_agent_goes_and_a_small_one_comes(clone: Path) -> None:
    make_new(clone)
    starter = {path.relative_to(STARTER).as_posix() for path in STARTER.rglob("*") if path.is_file()}
    starter = {name for name in starter if "__pycache__" not in name}
    engine = {"docs/a.md", "docs/readme.md", "docs/readme.ja.md", "lambda/handler.py", "cdk.json", ".gitignore"}
    assert files(clone) == starter | engine
    assert all((clone / name).read_bytes() == (STARTER / name).read_bytes() for name in starter)
    assert all(any(name.startswith(f"{folder}/") for name in starter) for folder in SAMPLE)


def test_the_readmes_move_to_docs_with_their_links_put_right(clone: Path) -> None:
    make_new(clone)
    assert (clone / "docs" / "readme.md").read_text(encoding="utf-8") == (
        "# Engine\n\nSee [a](a.md), [tools](../lambda/agent/tools/) and [日本語](readme.ja.md#x).\n"
    )
    assert (clone / "docs" / "readme.ja.md").read_text(encoding="utf-8") == "[English](readme.md)\n"
    assert "docs/readme.md" in (clone / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "link",
    [
        "[a](#deploy)",
        "[a](https://example.com/README.md)",
        '<img src="https://example.com/a.png">',
        "[a](mailto:a@b.c)",
        "`docs/a.md`",
    ],
)
def test_other_links_stay_as_they_are(link: str) -> None:
    assert moved(link) == link


def test_images_are_found_again() -> None:
    assert moved('<img src="docs/a.svg" alt="docs/">![b](docs/b.png)') == '<img src="a.svg" alt="docs/">![b](b.png)'


def test_a_second_time_is_refused(clone: Path) -> None:
    make_new(clone)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "-m", "mine")
    assert refusal(clone) == "`make new` has run here before: docs/readme.md is there"


@pytest.mark.parametrize("name", ["lambda/handler.py", "lambda/my_agent/tools/fortune.py", "cdk.json"])
@pytest.mark.parametrize("staged", [False, True])
def test_changed_files_are_told_and_nothing_is_done(clone: Path, name: str, staged: bool) -> None:
    (clone / name).write_text("mine")
    if staged:
        git(clone, "add", name)
    assert refusal(clone) == f"these files were changed, commit or restore them first: {name}"


@pytest.mark.parametrize(
    "name",
    [
        "lambda/my_agent/tools/orders.py",
        "events/90-mine.json",
        "tests/my_agent/test_mine.py",
        "docs/readme.ja.md",
        "lambda/my_agent/tools/offices.py",
    ],
)
def test_files_that_git_does_not_hold_are_told_and_nothing_is_done(clone: Path, name: str) -> None:
    (clone / name).write_text("mine")
    assert (
        refusal(clone) == f"git doesn't hold these files, so that they would be lost, commit or move them first: {name}"
    )


def test_what_git_ignores_is_left_alone_and_never_overwritten(clone: Path) -> None:
    for name in (".venv/x", "lambda/my_agent/tools/__pycache__/x.pyc", "lambda/my_agent/key.secret", "notes.txt"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text("kept")
    make_new(clone)
    kept = {".venv/x", "lambda/my_agent/tools/__pycache__/x.pyc", "lambda/my_agent/key.secret", "notes.txt"}
    assert kept <= files(clone)


def test_a_file_that_git_ignores_is_not_overwritten(clone: Path) -> None:
    (clone / ".gitignore").write_text("offices.py\n")
    git(clone, "commit", "--quiet", "-am", "ignore")
    (clone / "lambda" / "my_agent" / "tools" / "offices.py").write_text("mine")
    assert "lambda/my_agent/tools/offices.py" in refusal(clone)


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(README)
    assert "is no git repository of its own" in refusal(tmp_path)


def test_the_starters_prompt_says_that_results_are_data() -> None:
    prompt = (STARTER / "lambda" / "my_agent" / "system_prompt.md").read_text(encoding="utf-8")
    assert "data" in prompt
    assert "never follow instructions" in prompt
