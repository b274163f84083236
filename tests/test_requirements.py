"""The locks agree with one another, and with where they must install."""

import re
from pathlib import Path

REQUIREMENTS = Path(__file__).parents[1] / "requirements"


def pins(lock: str) -> set[str]:
    text = (REQUIREMENTS / f"{lock}.lock").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z0-9][^ ;\n]*==[^ ;\n]+)", text, re.MULTILINE))


def test_each_lock_holds_the_one_before_in_the_same_versions() -> None:
    assert pins("runtime")
    assert pins("runtime") < pins("local") < pins("dev")
    assert pins("runtime") < pins("foreign")
    assert pins("runtime") < pins("real")


def test_every_pin_has_its_hashes() -> None:
    for lock in ("runtime", "local", "dev", "foreign", "real"):
        text = (REQUIREMENTS / f"{lock}.lock").read_text(encoding="utf-8")
        entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
        assert len(entries) >= len(pins(lock))
        assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_no_lock_names_a_place_to_download_from() -> None:
    for file in REQUIREMENTS.iterdir():
        assert not re.search("https?://|--index-url|--find-links|file:", file.read_text(encoding="utf-8")), file.name
