"""`python -m tests.schemas FILE`: what becomes of the tool schemas in a file, and of inputs made for them.

FILE is JSON, gzipped or not: a list of objects with `tool`, `description` and `schema`. jsonschema's Draft 2020-12 is the judge.
"""

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "lambda"))

from tests.schemas.report import report_on


def main() -> int:
    """0 where the bounds hold: at least 98 % taken, all of them valid, no valid input changed or refused, no invalid one run."""
    parser = argparse.ArgumentParser(prog="python -m tests.schemas", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--inputs", type=int, default=60, help="inputs for each schema (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other inputs (default: 1)")
    options = parser.parse_args()
    try:
        data = options.file.read_bytes()
        entries: list[dict[str, Any]] = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        missing = [each for each in entries if not {"tool", "schema"} <= each.keys()]
    except (OSError, EOFError, ValueError, AttributeError) as error:
        parser.error(f"{options.file} can't be read as a list of tool schemas: {error}")
    if missing:
        parser.error(f"an entry of {options.file} has no tool or no schema: {str(missing[0])[:200]}")
    report = report_on(entries, options.inputs, options.seed)
    print("\n".join(report.lines()))
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main())
