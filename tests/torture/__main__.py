"""`make torture`: bad luck at length. Kills, crowds and faults, all on this machine, and a table of what came of it."""

import argparse
import os
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torture.processes import FUNCTION

if TYPE_CHECKING:
    from tests.torture.ground import Ground
    from tests.torture.lanes import Scenario

_PROGRESS_EVERY = 10.0  # seconds
_SHOWN = 20  # violations


def main() -> int:
    """0 where nothing was violated and no answer lost, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--seconds", type=float, default=200, help="no scenario begins after these (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other points of time (default: 1)")
    parser.add_argument("--function", type=Path, default=FUNCTION, help="the function's folder (default: lambda)")
    options = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("AWS_") or name.lower().endswith("_proxy")]:
        del os.environ[name]  # nothing here is for the developer's account, or goes through a proxy
    sys.path.insert(0, str(FUNCTION))
    from tests.torture.ground import ground_in
    from tests.torture.lanes import lanes

    print(f"Torturing {options.function} for {options.seconds:g} s, seed {options.seed}. Nothing leaves this machine.")
    with tempfile.TemporaryDirectory() as folder, ground_in(Path(folder), options.function.resolve()) as ground:
        _run(ground, lanes(ground, options.seed), options.seconds)
        return _close(ground)


def _run(ground: "Ground", lanes: "list[Iterator[Scenario]]", seconds: float) -> None:
    began = time.monotonic()
    threads = [threading.Thread(target=_follow, args=(ground, lane, began + seconds), daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    told = began
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(timeout=1)
        if time.monotonic() - told >= _PROGRESS_EVERY:
            told = time.monotonic()
            print(
                f"{told - began:5.0f} s  {', '.join(f'{name} {n}' for name, n in _totals(ground).items())}", flush=True
            )


def _follow(ground: "Ground", lane: "Iterator[Scenario]", end: float) -> None:
    while time.monotonic() < end:
        try:
            scenario = next(lane)
            ground.tally.count("scenarios")
            scenario()
        except Exception:  # noqa: BLE001 - what goes wrong here must end up in the table, not in a thread
            ground.tally.violations.append(f"the test itself failed: {traceback.format_exc()}")


def _totals(ground: "Ground") -> dict[str, int]:
    counts, faults = ground.tally.counts, ground.cloud.faults.copy()
    return {
        "scenarios": counts["scenarios"],
        "requests": counts["requests"],
        "faults": sum(number for kind, number in faults.items() if "kill" not in kind),
        "kills": counts["kills"],
        "sessions checked": counts["sessions checked"],
        "violations": len(ground.tally.violations),
        "answers lost": len(ground.tally.lost),
    }


def _close(ground: "Ground") -> int:
    ground.tally.violations += [f"a request that Bedrock refuses: {rule}" for rule in ground.cloud.broken_rules()]
    totals = _totals(ground)
    print("\nfaults injected")
    for kind, number in sorted(ground.cloud.faults.items()):
        if "kill" not in kind:
            print(f"  {kind:<24}{number:>7,}")
    print("totals")
    for name, number in totals.items():
        print(f"  {name:<24}{number:>7,}")
    for told in [*ground.tally.violations, *(f"answer lost: {lost}" for lost in ground.tally.lost)][:_SHOWN]:
        print(f"  ! {told}")
    return 1 if totals["violations"] or totals["answers lost"] or not totals["sessions checked"] else 0


if __name__ == "__main__":
    sys.exit(main())
