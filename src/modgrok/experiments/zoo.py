"""The zoo: trained networks whose mathematics is known, each a run's folder with the truth about it.

    power-sum-23-0/truth.json             which function, its witness, what the network came to, what is proved of it
    power-sum-23-0/split.npy              which rows of the table trained it
    power-sum-23-0/lens.py, lens.*        a transformer for TransformerLens: module, state dict, configuration
    power-sum-23-0/weights.safetensors, … the files of a run (`training.run_folder`), without checkpoint and curves
    README.md                             the card

A network is made from its seed (`experiments.zoo_plan`), and truth.json is written last: a build that was stopped goes
on with the networks that have none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from modgrok.algebra.function import from_table
from modgrok.base.compilation_cache import user_cache
from modgrok.base.errors import InputError
from modgrok.base.files import whole_file, write_text
from modgrok.base.locks import locked
from modgrok.base.printing import markdown_table
from modgrok.base.progress import Progress
from modgrok.base.repository import ROOT, has_studies
from modgrok.base.results import Result, percent, plain_object
from modgrok.base.stores import Kinds, read_object, write_object
from modgrok.experiments.zoo_plan import SNAPSHOTS as KEPT, Entry, entries
from modgrok.networks.export import export
from modgrok.networks.models import Transformer
from modgrok.networks.network import Network
from modgrok.networks.verification import verify
from modgrok.separable.classification import classify_table
from modgrok.training.inspecting import inspect, training_rows
from modgrok.training.run import Run, load_run, write_run
from modgrok.training.run_folder import claim, difference, load_config
from modgrok.training.snapshots import SNAPSHOTS, Snapshots, write_snapshots
from modgrok.training.train import train_config

TRUTH, SPLIT, LENS, CARD = "truth.json", "split.npy", "lens.py", "README.md"
NOTHING = 0.4
"""Test accuracy of what has memorised and nothing more, at most."""
VARIABLE = "MODGROK_ZOO"
KINDS: Kinds = {
    "name": str,
    "kind": str,
    "model": str,
    "function": str,
    "size": int,
    "outcome": str,
    "accuracy": (int, float),
}
"""What every truth.json must have."""
SHOWN = (*KINDS, "test_accuracy", "proved_accuracy")


@dataclass(frozen=True, repr=False, eq=False)
class Specimen(Result):
    """A network of the zoo: its `run` with weights, settings and metrics, its `snapshots`, and the `truth` about it."""

    name: str
    folder: Path
    truth: Mapping[str, Any]

    @cached_property
    def run(self) -> Run:
        return load_run(self.folder)

    @property
    def network(self) -> Network:
        return self.run.network

    @property
    def snapshots(self) -> Snapshots:
        return self.run.snapshots

    @property
    def table(self) -> Int[np.ndarray, "n n"]:
        """The values of its function."""
        return self.run.config.function.table

    @property
    def split(self) -> Bool[np.ndarray, "row"]:
        """Which rows of the table trained it."""
        return split_of(self.network)

    def anonymous(self) -> Network:
        """The same weights without a word about their function: what a benchmark asks about."""
        model = self.network.model
        return Network(
            model,
            self.network.params,
            from_table(np.zeros(model.residues, int), model.classes, "nothing said"),
            "trained",
        )

    def summary(self) -> str:
        truth = self.truth
        return f"{self.name}: {truth['function']}, {truth['outcome']}, {percent(truth['accuracy'])} right"

    def to_json(self) -> dict[str, Any]:
        return plain_object(self.truth)


@dataclass(frozen=True, repr=False, eq=False)
class Zoo(Result):
    """The networks in a folder: `zoo["power-sum-23-0"]`, `zoo.names`, `for specimen in zoo`, `zoo_score(zoo)`."""

    folder: Path
    specimens: tuple[Specimen, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.specimens)

    def __getitem__(self, name: str) -> Specimen:
        for each in self.specimens:
            if each.name == name:
                return each
        some = ", ".join(self.names[:3])
        raise InputError(f"{self.folder} has no network {name!r}; its {len(self)} are called {some}, …: zoo.names")

    def __len__(self) -> int:
        return len(self.specimens)

    def __iter__(self) -> Iterator[Specimen]:
        return iter(self.specimens)

    def summary(self) -> str:
        outcomes = [each.truth["outcome"] for each in self]
        told = ", ".join(f"{outcomes.count(word)} {word}" for word in dict.fromkeys(outcomes))
        return f"{len(self)} networks in {self.folder}" + (f": {told}" if told else "")

    def to_json(self) -> dict[str, Any]:
        rows = [{name: each.truth.get(name) for name in SHOWN} for each in self]
        return plain_object({"folder": self.folder, "networks": len(self), "rows": rows})


def split_of(network: Network) -> Bool[np.ndarray, "row"]:
    found = training_rows(network)
    assert found is not None  # a run knows its seed
    return found


def zoo(folder: str | Path | None = None) -> Zoo:
    """The zoo in a folder: networks whose mathematics is known.

    Arguments:
        folder: where `build_zoo` wrote it; by default the one in the user's cache (or in MODGROK_ZOO), else the
            examples of a clone of the repository.

    Returns:
        A `Zoo`: `zoo[name]` is a `Specimen`, `zoo.names` what is there.
    """
    places = [Path(folder)] if folder is not None else [default_folder(), ROOT / "benchmarks" / "zoo"]
    for place in places[: 1 if folder is not None or not has_studies() else 2]:
        if found := specimens_in(place):
            return Zoo(place, found)
    raise InputError(f"no zoo in {places[0]}; make one: modgrok zoo build --out {places[0]}")


def default_folder() -> Path:
    base = user_cache()
    return Path(os.environ.get(VARIABLE) or (Path("zoo") if base is None else base / "zoo"))


def specimens_in(folder: Path) -> tuple[Specimen, ...]:
    paths = sorted(folder.glob(f"*/{TRUTH}"))
    found = [(path.parent, read_object(path, KINDS, "build the zoo again without it")) for path in paths]
    return tuple(Specimen(place.name, place, truth) for place, truth in found)


# ------------------------------------------------------------------------------------------------ building


def build_zoo(out: str | Path | None = None, *, only: Sequence[str] = ("*",), progress: Progress | None = None) -> Zoo:
    """Train the networks of the zoo that are not in a folder yet, from their seeds.

    Arguments:
        out: the folder; by default one in the user's cache.
        only: names, or patterns of them such as "power-*".
        progress: called with the networks that are there, and with those in all.

    Returns:
        The `Zoo`.
    """
    folder = default_folder() if out is None else Path(out)
    chosen = [entry for entry in entries() if any(fnmatchcase(entry.name, pattern) for pattern in only)]
    if not chosen:
        raise InputError(f"no network of the zoo is called {', '.join(only)}; names are like {entries()[0].name}")
    known = (folder / CARD).read_text(encoding="utf-8", errors="replace") if (folder / CARD).is_file() else ""
    if folder.is_dir() and any(folder.iterdir()) and TITLE not in known:
        raise InputError(f"{folder} is not empty and is no zoo; choose another folder: out= (--out)")
    with locked(folder):
        write_text(folder / CARD, card(Zoo(folder, specimens_in(folder))))  # whose folder this is, from now on
        for done, entry in enumerate(chosen):
            if progress is not None:
                progress(done, len(chosen))
            make(entry, folder / entry.name)
        found = Zoo(folder, specimens_in(folder))
        write_text(folder / CARD, card(found))
    return found


def make(entry: Entry, folder: Path) -> None:
    """Train a network and write its folder, unless that is there."""
    config = entry.config()
    if (folder / TRUTH).exists():
        if words := difference(load_config(folder), config):
            raise InputError(f"{folder} holds another {words}; choose another folder: out= (--out)")
        return
    run = train_config(config, live=False)
    claim(config, folder)
    write_snapshots(folder / SNAPSHOTS, run.snapshots)
    with whole_file(folder / SPLIT) as temporary:
        np.save(temporary, split_of(run.network))
    if isinstance(run.network.model, Transformer):
        export(run.network, "transformer-lens", folder / LENS)
    write_run(run, folder, figure=False)
    write_object(folder / TRUTH, truth_of(entry, run))


def truth_of(entry: Entry, run: Run) -> dict[str, Any]:
    """What is known of a network: its function, with a witness or its group; what it came to; what is proved of it."""
    function, checked = run.config.function, verify(run.network)
    test, learned = run.final["test_accuracy"], run.outcome == "grokked"
    outcome = "learned" if learned else "memorised" if run.memorised_at is not None and test <= NOTHING else "partly"
    view = inspect(run.network).to_json()
    group = view["in_group"] if entry.group and learned else None
    decided = {} if entry.group else classify_table(function.table, function.modulus).to_json()
    share = group["closed_form_share"] if group else view["logits"]["analytical_share"] if learned else None
    proof = checked.proof
    return {
        "name": entry.name,
        "kind": entry.kind,
        "model": entry.model,
        "function": run.title,
        "size": entry.size,
        "group": entry.group,
        **{name: decided.get(name) for name in ("verdict", "family", "group_order", "witness")},
        "outcome": outcome,
        "accuracy": checked.accuracy,
        "train_accuracy": run.final["train_accuracy"],
        "test_accuracy": test,
        "memorised_at": run.memorised_at,
        "grokked_at": run.grokked_at,
        "proved_accuracy": None if proof is None else proof.right / checked.rows_total,
        "proof": proof,
        "unproved": checked.unproved or None,
        "order": view["logits"]["order"] if learned and not entry.group else None,
        "frequencies": view["logits"]["key_frequencies"] if learned and not entry.group else None,
        "representations": None if group is None else group["representations"],
        "analytical_share": share,
        "snapshots": list(run.snapshots),
    }


OUTCOMES = ("learned", "partly", "memorised")


def card(found: Zoo) -> str:
    """README.md of a zoo; every number is counted."""
    rows = [{name: each.truth.get(name) for name in SHOWN} for each in found]
    kinds = dict.fromkeys((row["model"], row["kind"]) for row in rows)
    own = {kind: [row["outcome"] for row in rows if (row["model"], row["kind"]) == kind] for kind in kinds}
    counted = [[*kind, len(words), *map(words.count, OUTCOMES)] for kind, words in own.items()]
    proved = sum(row["proved_accuracy"] is not None for row in rows)
    cells = [[shown(cell) for cell in row.values()] for row in rows]
    tables = [*markdown_table(("model", "kind", "networks", *OUTCOMES), counted), *markdown_table(SHOWN, cells)]
    head = (
        f"{len(rows):,} networks, each at {KEPT} steps of its training. `proved_accuracy` is what the kernel of "
        f"modgrok proved when they were made, of {proved:,} of them; it has no bound for the rounding of transformers. "
        "`modgrok verify FOLDER` proves it again, from the weights."
    )
    return "\n".join([*TOP, "", head, *GUIDE, "", *tables])


def shown(cell: object) -> object:
    return "" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else cell


TITLE = "# A zoo of small networks whose mathematics is known"
TOP = f"""\
---
license: cc-by-4.0
pretty_name: Networks whose mathematics is known
tags:
- grokking
- interpretability
- modular-arithmetic
---

{TITLE}
""".splitlines()

GUIDE = """
Every folder is a network: `weights.safetensors`, `snapshots.safetensors` (tensors named STEP/NAME), `config.json`,
`metrics.parquet`, `split.npy` (which rows of the table trained), `function.npy` (the table, where the function is no
polynomial), `truth.json`: the function, a witness g1, g2, h with f(a, b) = h(g1(a) + g2(b)) or the group, frequencies
or representations of the logits, accuracy, what is proved of it. Transformers have `lens.py`, with HookedTransformer's
state dict and configuration beside it.

```python
import modgrok as mg

zoo = mg.zoo("this folder")
zoo.names, zoo[zoo.names[0]].network, zoo[zoo.names[0]].truth
mg.zoo_score(zoo)      # which function is this? our decompiler's score; mg.zoo_score(zoo, yours) for another's
```

*Learned* networks have grokked; *memorised* ones are right on what trained them, and on at most 40 % of the other rows;
*partly* is in between, and not scored. Weights are under CC BY 4.0. All of it can be made again from seeds: `modgrok
zoo build`.
""".splitlines()
