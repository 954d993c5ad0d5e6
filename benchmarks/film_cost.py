"""What the film of a training costs: processor seconds for its snapshots, beside those of the training, and bytes.

    python benchmarks/film_cost.py

Only what snapshots add is timed (`Diary.film`, which copies the network, and `write_snapshots`), in seconds of the
processor, so that a busy machine gives the same figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import modgrok as mg
from modgrok.training import train as training
from modgrok.training.snapshots import SNAPSHOTS

CASES: dict[str, dict[str, Any]] = {
    "x², n1 n2 mod 97": {"function": "n1 n2", "mod": 97, "steps": 300},
    "x², n1 n2 mod 23": {"function": "n1 n2", "mod": 23},
    "MLP, n1 + n2 mod 59": {"function": "n1 + n2", "mod": 59, "model": "mlp", "steps": 500},
    "transformer, n1 + n2 mod 31": {"function": "n1 + n2", "mod": 31, "model": "transformer", "steps": 300},
    "x², a b in S5": {"function": "a b", "group": "S5", "steps": 200},
}


def main() -> None:
    spent = 0.0

    def timed(work: Callable[..., None]) -> Callable[..., None]:
        def called(*given: Any) -> None:
            nonlocal spent
            began = time.process_time()
            work(*given)
            spent += time.process_time() - began

        return called

    training.Diary.film = timed(training.Diary.film)  # type: ignore[method-assign]
    training.write_snapshots = timed(training.write_snapshots)  # type: ignore[attr-defined]
    for name, settings in CASES.items():
        spent = 0.0
        with TemporaryDirectory() as folder:
            began = time.process_time()
            run = mg.train(out=Path(folder) / "run", **settings)
            whole = time.process_time() - began
            size = (Path(folder) / "run" / SNAPSHOTS).stat().st_size
        print(
            f"{name}: {len(run.snapshots)} snapshots, {spent:.2f} s of {whole:.1f} s, {size / 1e6:.1f} MB", flush=True
        )


if __name__ == "__main__":
    main()
