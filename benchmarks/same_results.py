"""Are results bit for bit what they were? python benchmarks/same_results.py --out FILE, later --against FILE

Digests of what modgrok computes, small (`same_results_cases`): fifty steps of every model and every optimiser, circuits
that are trained from end to end, a sweep, a census and a slice of it, compiled networks, and verdicts. Written with
--out before a change of the code and compared with --against after it, on one machine. What differs or is missing is
named, and the exit code is 1; what is new is not compared, so that a result may have more columns than it had.

Nothing but the public verbs and the files that they write is used: whatever is inside may be renamed. Times, paths and
versions are in no digest. The number of cores is in the last bits: a transformer on 11³ rows trains otherwise on one
than on two. So this takes one core, and keeps compiled programs in a folder of its own, .cache/same_results; the first
run takes four minutes, and a second one, which compiles only what has changed, one minute.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
if __name__ == "__main__":  # before NumPy and JAX count the cores
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["MODGROK_CACHE"] = str(ROOT / ".cache" / "same_results")
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)

import numpy as np  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import same_results_cases as cases  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402
from writing import write_found  # noqa: E402

import modgrok as mg  # noqa: E402

Digests = Iterator[tuple[str, str]]
PACKAGES = ("jax", "jaxlib", "optax", "numpy", "scipy", "pyarrow")
SECONDS_BETWEEN_LINES = 5.0
METRICS = ("step", "train_loss", "test_loss", "train_accuracy", "test_accuracy", "ipr", "ipr_alive", "alive")
METRICS += ("embed_norm", "readout_norm")
TOLD = ("verdict", "family", "group_order", "witness", "obstruction", "families", "closed_form", "symmetries")
TOLD += ("redundancy", "expected_accuracy", "notes", "predicted")
NEW = ("decided_by", "steps")
"""What is digested of a training, and of an answer; a later version may have more, as families have what is new, and
may take other steps to the same verdict."""
STEPS = re.compile(r"within [\d,]+ steps")


# ------------------------------------------------------------------------------------------------ digests


def of_json(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def of_arrays(arrays: Mapping[str, np.ndarray]) -> str:
    """Names, types, shapes and raw bytes."""
    found = sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}\n".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def of_weights(network: mg.Network, folder: Path) -> str:
    """The tensors of the network's file, without what the file says of them."""
    return of_arrays(load_file(network.save(folder / "network.safetensors")))


def of_columns(rows: Sequence[Mapping[str, Any]]) -> Digests:
    """A digest for each column, so that new ones change nothing."""
    yield from ((name, of_json([row[name] for row in rows])) for name in rows[0])


# ------------------------------------------------------------------------------------------------ what is computed


def compiled(folder: Path) -> Digests:
    for number, (function, p, settings) in enumerate(cases.NETWORKS):
        network = mg.compile(function, p, **settings)
        words = " ".join(map(str, settings.values()))
        yield f"{number:02} {network.title} {words}".rstrip(), of_weights(network, folder)


def verdicts(folder: Path) -> Digests:
    for number, (function, p) in enumerate(cases.questions()):
        answer = mg.classify(function, p)
        told = answer.to_json()
        told["families"] = [{k: v for k, v in family.items() if k not in NEW} for family in told["families"]]
        told["expected_accuracy"] = {name: told["expected_accuracy"][name] for name in ("value", "low", "high")}
        words = json.dumps({name: told[name] for name in TOLD}, sort_keys=True)
        yield f"{number:03} {answer.function.title}", of_json(STEPS.sub("within its steps", words))


def trainings(folder: Path) -> Digests:
    for name, settings in cases.trainings():
        run = mg.train(**{"steps": cases.STEPS, "snapshots": 4} | settings)
        yield f"{name}: weights", of_weights(run.network, folder)
        yield f"{name}: snapshots", of_json([(step, of_weights(run.at(step), folder)) for step in run.snapshots])
        yield f"{name}: metrics", of_arrays({column: np.asarray(run.metrics[column]) for column in METRICS})
        yield f"{name}: words", of_json([run.summary(), run.outcome, run.expected.to_json()])


def circuits(folder: Path) -> Digests:
    """Trained experts, joined; and a circuit from each of its starts, in the first study of the paper's item.

    Its time limit keeps the second study, which is longer, from beginning. Its curves have four digits.
    """
    yield "mix", of_weights(mg.mix(**cases.MIX, steps=cases.STEPS), folder)
    found = mg.paper("endtoend", quick=True, time_limit=1.0, out=folder / "endtoend")
    yield "end to end: curves", of_json(found.data["curves"])
    yield "end to end: rows", of_json(found.rows)


def sweeps(folder: Path) -> Digests:
    found = mg.sweep(**cases.SWEEP, steps=cases.STEPS, out=folder / "sweep", keep_weights=True)
    yield from of_columns(found.rows)
    curves = [found.curves(k) for k in range(len(found.rows))]
    yield from ((f"{name} curves", of_json([each[name].tolist() for each in curves])) for name in curves[0])
    yield "medians and words", of_json([found.to_json()[name] for name in ("medians", "best", "words")])
    files = sorted((folder / "sweep" / "weights").glob("*.safetensors"))
    yield "weights", of_json([(path.name, of_arrays(load_file(path))) for path in files])


def censuses(folder: Path) -> Digests:
    """A whole one with its annotations, and a slice without."""
    plan = folder / "plan.toml"
    plan.write_text(cases.CENSUS, encoding="utf-8")
    mg.census(plan, folder / "census")
    yield from of_columns(pq.read_table(folder / "census" / "census.parquet").to_pylist())
    mg.census(plan, folder / "slice", part="2/3")
    parts = sorted((folder / "slice").glob("part-*.parquet"))
    rows = [row for path in parts for row in pq.read_table(path).to_pylist()]
    yield from ((f"slice, {name}", digest) for name, digest in of_columns(rows))


SECTIONS: dict[str, Callable[[Path], Digests]] = {
    "compile": compiled,
    "classify": verdicts,
    "train": trainings,
    "circuit": circuits,
    "sweep": sweeps,
    "census": censuses,
}


# ------------------------------------------------------------------------------------------------ the whole


def digests(sections: Sequence[str]) -> dict[str, str]:
    """Everything by name; a line now and then says how far it is."""
    found: dict[str, str] = {}
    began = shown = time.perf_counter()
    for section in sections:
        with TemporaryDirectory() as folder:
            for name, digest in SECTIONS[section](Path(folder)):
                if f"{section}: {name}" in found:
                    raise ValueError(f"two results are called {section}: {name}")
                found[f"{section}: {name}"] = digest
                if time.perf_counter() - shown > SECONDS_BETWEEN_LINES:
                    shown = time.perf_counter()
                    print(f"{shown - began:4.0f} s, {len(found):4} digests, {section}: {name}", flush=True)
    print(f"{time.perf_counter() - began:4.0f} s, {len(found):4} digests in all", flush=True)
    return found


def provenance() -> dict[str, Any]:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "commit": git("rev-parse", "HEAD"),
        "source": git("rev-parse", "HEAD:src"),
        "changed_since": git("status", "--porcelain", "src").splitlines(),
        "versions": {"modgrok": mg.__version__, "python": platform.python_version()}
        | {name: version(name) for name in PACKAGES},
        "machine": f"{models[0] if models else platform.machine()}, cores used: {cores}",
        "date": datetime.now(UTC).date().isoformat(),
    }


def compare(before: Mapping[str, Any], found: Mapping[str, str], sections: Sequence[str]) -> int:
    """Prints what differs from a stored file; how much that is."""
    now = provenance()
    for name in ("machine", "versions"):
        if before[name] != now[name]:
            print(f"other {name}, which may change last bits: {before[name]} before, {now[name]} now")
    asked = {name: digest for name, digest in before["digests"].items() if name.partition(":")[0] in sections}
    wrong = [name for name, digest in asked.items() if found.get(name) != digest]
    for name in wrong:
        print(f"{'differs' if name in found else 'missing'}: {name}")
    new = len(found.keys() - asked.keys())
    print(f"{len(asked) - len(wrong)} of {len(asked)} are as at commit {before['commit'][:7]}; {new} are new")
    return len(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="write the digests to this file")
    what.add_argument("--against", type=Path, help="compare with the digests in this file")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--note", default="", help="what the file is to say of itself")
    args = parser.parse_args()
    before = json.loads(args.against.read_text(encoding="utf-8")) if args.against else None
    found = digests(args.only)
    if before is not None:
        sys.exit(bool(compare(before, found, args.only)))
    stored = {"command": "python benchmarks/same_results.py", "note": args.note, **provenance(), "digests": found}
    write_found(__file__, args.out, stored, args)
    print(f"written to {args.out}")


if __name__ == "__main__":
    main()
