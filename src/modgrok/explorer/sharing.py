"""The verb share: a run, a network or a function as one page that needs no server, no network and no modgrok.

It is the explorer's page with its answers inside: the same modules draw it (`explorer.bundle`), from what the same
functions send to a page that asks.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from modgrok import __version__
from modgrok.algebra.fields import Field
from modgrok.algebra.function import Function, FunctionLike, read_function
from modgrok.algebra.groups import GroupLike
from modgrok.base.errors import InputError
from modgrok.base.files import write_text
from modgrok.base.progress import Progress
from modgrok.base.results import Result, percent, plain_object
from modgrok.explorer.asking import Params, run_folder
from modgrok.explorer.bundle import whole_page
from modgrok.explorer.films import film
from modgrok.explorer.functions import asked_function, described, verdict_on
from modgrok.explorer.network_answers import Examined, asked_network, compiled, expert_view, network_view
from modgrok.explorer.recipes import Recipe, of_network as of_compiler, of_training, of_verdict
from modgrok.explorer.run_answers import measured
from modgrok.inspection.order import group_of_word
from modgrok.inspection.wrapping import wrap
from modgrok.networks.network import Network
from modgrok.networks.readers.weight_files import SUFFIXES
from modgrok.networks.storage import WEIGHTS, is_own_file, load, no_such_network
from modgrok.networks.verification import count_text, verify
from modgrok.training.config import TrainConfig
from modgrok.training.inspecting import inspect
from modgrok.training.run import Run, load_run
from modgrok.training.run_folder import CONFIG

MARK = '<meta name="generator" content="modgrok share">'
"""By this a page is known to be one of ours, which may be replaced."""
MOST_EXPERTS, MOST_NEURONS = 12, 2000
"""Experts of a network that can be looked into on its page, and neurons of one."""
LARGEST_ONE_HOT = 120
"""Order of a group up to which the network of all representations is compiled for a page."""
DIGITS = 6
OF_COMPILER = ("frequencies", "dtype", "mul_width", "add_width", "beta", "normalisation", "seed")
"""Settings that a compiled network tells, and that make it again."""


@dataclass(frozen=True, repr=False)
class Shared(Result):
    """A page that was written: what it shows (`kind` is run, network or function), and its size in bytes.

    `moments` counts those of its film: 0 where there is none.
    """

    kind: str
    title: str
    about: str
    moments: int
    page_bytes: int
    seconds: float
    files: tuple[Path, ...]

    def summary(self) -> str:
        film_of = f"a film of {self.moments} moments, " if self.moments > 1 else ""
        return f"{self.title}: {film_of}{self.page_bytes / 1000:,.0f} kB in {self.files[0]}"


def share(
    what: Run | Network | FunctionLike,
    mod: int | None = None,
    *,
    group: GroupLike | None = None,
    field: int | Field | None = None,
    function: FunctionLike | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Shared:
    """Write one page about a run, a network or a function, which opens anywhere and loads nothing.

    Args:
        what: a run or a network, or the path of either; or a function: an expression, a table, or a file of one.
        mod, group, field: where the function has its values, as in `classify`.
        function: what a network of somebody else's was trained on, as in `wrap`.
        out: the file; by default the name of what is shared, with .html, in the folder where you are.
        overwrite: replace a file that is no page of modgrok's.
        progress: called with the moments of the film that are done, and with all of them.

    Returns:
        A `Shared`: `kind`, `title`, `about`, `moments`, `page_bytes` and `files`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     share("n1 + n2", 7, out=Path(folder) / "page.html").kind
    'function'
    """
    started = time.perf_counter()
    found = opened(what, mod, group, field, function)
    path = Path(f"{file_name(found)}.html" if out is None else out)
    check_place(path, overwrite)
    data, page = page_of(found, progress)
    write_text(path, page)
    moments = len((data.get("film") or {}).get("steps", ()))
    page_bytes, seconds = path.stat().st_size, time.perf_counter() - started
    return Shared(data["kind"], data["title"], data["about"], moments, page_bytes, seconds, (path,))


def page_of(found: Run | Network | Function, progress: Progress | None = None) -> tuple[dict[str, Any], str]:
    """What the page of something shows, and the page."""
    data = plain_object(content(found, progress))
    return data, whole_page(f"{data['title']} · modgrok", data["about"], rounded(data))


def shared(params: Params) -> tuple[bytes, str]:
    """The explorer's question: the page of a run, of a network, or of the function that is asked about."""
    found: Run | Network | Function
    if params.get("run"):
        found = load_run(run_folder(params))
    elif params.get("network") or params.get("method"):
        found = asked_network(params).network
    else:
        found = asked_function(params)
    ascii_name = "".join(c if c.isascii() else "_" for c in file_name(found))
    return page_of(found)[1].encode(), f"{ascii_name}.html"


def opened(
    what: Any, mod: int | None, group: GroupLike | None, field: int | Field | None, function: FunctionLike | None
) -> Run | Network | Function:
    """A run, a network or a function, from what was given; one of somebody else's networks is wrapped."""
    path = Path(what) if isinstance(what, (str, Path)) else None
    if path is not None and path.suffix.lower() in SUFFIXES and not (path.exists() and is_own_file(path)):
        if not path.exists():
            raise InputError(no_such_network(path))
        if path.suffix.lower() != ".npy" or function is not None:  # an array of whole numbers is a table
            said = None if function is None else read_function(function, mod, group=group, field=field)
            return wrap(path, said, mod=mod if said is None else None)
    elif isinstance(what, (Run, Network)) or (path is not None and path.exists() and is_ours(path)):
        if any(part is not None for part in (mod, group, field, function)):
            raise InputError("a run or a network knows its function; leave out mod, group, field and function")
        if isinstance(what, (Run, Network)):
            return what
        assert path is not None
        return load_run(path) if (path / CONFIG).is_file() else load(path)
    if path is not None and path.is_dir():
        raise InputError(f"{path} is no run and no network; give the folder of a run, a file of weights or a function")
    return read_function(what, mod, group=group, field=field, at_least=2)


def is_ours(path: Path) -> bool:
    """A run, or a network of modgrok's."""
    return (path / CONFIG).is_file() or (path / WEIGHTS).is_file() or (path.is_file() and is_own_file(path))


def check_place(path: Path, overwrite: bool) -> None:
    """An `InputError` for a file that somebody else wrote."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file: --out {path / 'page.html'}")
    if path.exists() and not overwrite and MARK.encode() not in path.read_bytes()[: 1 << 14]:
        raise InputError(f"{path} is there and is no page of modgrok's; choose another name (--out), or --overwrite")


def file_name(found: Run | Network | Function) -> str:
    """A name that any file may have."""
    if isinstance(found, Run) and found.folder is not None and found.folder.name:
        return found.folder.resolve().name
    words = "".join(c if c.isalnum() or c in "+-^" else "_" for c in found.title.replace(" ", ""))
    return words[:60].strip("_") or "page"


def rounded(value: Any) -> Any:
    """Numbers with six digits, of which no picture needs more."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


# ---------------------------------------------------------------------------------------------- what is on a page


def content(found: Run | Network | Function, progress: Progress | None = None) -> dict[str, Any]:
    """All that the page of something shows."""
    if isinstance(found, Run):
        return of_run(found, progress)
    return of_network(found, progress) if isinstance(found, Network) else of_function(found)


def of_function(found: Function, fraction: float = 0.5) -> dict[str, Any]:
    """The table and the verdict."""
    verdict = without_times(verdict_on(found, fraction))
    return {
        "kind": "function",
        "title": found.title,
        "about": " ".join([*verdict["answer"], *([f"Read as {found.read_as}."] if found.form else [])]),
        "version": __version__,
        "function": described(found),
        "verdict": verdict,
        "again": of_verdict(found, fraction),
    }


def of_network(found: Network, progress: Progress | None) -> dict[str, Any]:
    """The network, its experts, which cells it has right, and its film where it has one; then its function."""
    kept = found.snapshots
    checked = None if found.answers_itself else verify(found)
    data = of_function(found.function) | {
        "kind": "network",
        "title": found.title,
        "film": film(kept, max(kept, default=0), kept[max(kept)] if kept else found, progress),
        "network": (network_view(found) if found.is_circuit else found.to_json() | {"title": found.title}),
        "verification": None if checked is None else without_times(checked.to_json()) | {"text": checked.summary()},
        "experts": experts(found),
        "again": network_again(found),
    }
    said = [f"A neural network of {found.width:,} neurons for {found.title}."]
    if data["again"] is not None:
        said.append("Its weights are written down by a formula: nothing was trained.")
    if checked is not None:
        right = (
            checked.verdict
            if checked.errors or checked.proof is None or not checked.proof.holds
            else (f"{checked.proof.whole}: {count_text(checked.rows_total)} of them")
        )
        said.append(f"It is {right}.")
    return data | {"about": " ".join(said)}


def experts(found: Network) -> list[dict[str, Any]]:
    """What its experts do, as far as they are few and narrow."""
    if not found.is_circuit or len(found.circuit.experts) > MOST_EXPERTS:
        return []
    examined, drawn = Examined(found), enumerate(found.circuit.experts, start=1)
    return [expert_view(examined, count) for count, expert in drawn if expert.width <= MOST_NEURONS]


def of_run(found: Run, progress: Progress | None) -> dict[str, Any]:
    """The film, what became of it, what lies inside beside the closed form; then its function.

    Of a network that was shown the whole table nothing is left to expect: what is expected then is of half of it.
    """
    fraction = found.config.fraction if found.test_rows else 0.5
    return of_function(found.config.function, fraction) | {
        "kind": "run",
        "title": found.title,
        "about": story(found),
        "run": measured(found)
        | {
            "seconds": found.seconds,
            "train_rows": found.train_rows,
            "test_rows": found.test_rows,
            "device": found.device,
        },
        "film": film(found.snapshots, found.step, found.network, progress),
        "inspection": inspected(found.network),
        "closed_form": closed_form(found.config.function),
        "again": run_again(found.config),
    }


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    """Without how long it took: the same run gives the same page."""
    return {name: value for name, value in found.items() if name != "seconds"}


def inspected(network: Network) -> dict[str, Any] | None:
    """The verb inspect; None for a network that cannot be looked at, such as one whose training diverged."""
    try:
        return without_times(inspect(network, film=[]).to_json())
    except InputError:
        return None


def closed_form(function: Function) -> dict[str, Any] | None:
    """What the compiler writes for a function, to stand beside a trained network: the narrowest one, or in a group that
    is not cyclic that of all representations, which training finds."""
    group = group_of_word(function)
    frequencies = "all" if group is not None and group.order <= LARGEST_ONE_HOT else "minimal"
    try:
        examined = compiled(function, "exact", (("frequencies", frequencies),))
        network = examined.network
        last = expert_view(examined, len(network.circuit.experts))
        return {"network": network_view(network), "expert": last, "inspection": inspected(network)}
    except InputError:
        return None


def network_again(found: Network) -> Recipe | None:
    """How to compile it; None where the compiler makes another one, whatever its file says."""
    if found.method not in ("exact", "paper"):
        return None
    chosen = {name: found.settings[name] for name in OF_COMPILER if found.settings.get(name) is not None}
    widths = [chosen.get(name, 0) for name in ("mul_width", "add_width")]
    if not all(type(width) is int and width <= found.width for width in widths):
        return None
    try:
        made = compiled(found.function, found.method, tuple(chosen.items())).network
    except (InputError, TypeError, ValueError):  # settings of a file may be anything
        return None
    return of_compiler(found.function, found.method, chosen) if same_weights(made, found) else None


def same_weights(one: Network, other: Network) -> bool:
    """Whether two networks are one, but for what machines round differently."""
    ours, theirs = one.weights(), other.weights()
    return (one.model, [*ours]) == (other.model, [*theirs]) and all(
        ours[name].shape == theirs[name].shape and np.allclose(ours[name], theirs[name], rtol=1e-5, atol=1e-6)
        for name in ours
    )


def run_again(config: TrainConfig) -> Recipe | None:
    """The training, and the page of it; None where it had objects that no command names."""
    found = None if config.own_objects() else of_training(config.function, config.changed())
    if found is None:
        return None
    command = f"{found.command} --out runs/again\nmodgrok share runs/again --out page.html"
    return replace(found, command=command, python=f'{found.python}\nmg.share(run, out="page.html")')


def story(found: Run) -> str:
    """What happened in a training, for somebody who has never heard of one."""
    tested, cells = found.test_rows, found.network.known_rows
    train, test = percent(found.final["train_accuracy"]), percent(found.final["test_accuracy"])
    begun = f"A neural network was shown {found.train_rows:,} of the {cells:,} cells of the table of {found.title}."
    if not tested:
        begun = f"A neural network was shown the whole table of {found.title}."
        return f"{begun} After {found.step:,} steps it has {train} of it right."
    if found.grokked_at is not None and found.memorised_at is not None:
        return (
            f"{begun} By step {found.memorised_at:,} it knew them by heart. By step {found.grokked_at:,} it had "
            f"understood: of the {tested:,} cells that it never saw, {test} are right."
        )
    if found.memorised_at is not None:
        rest = "and that is all: of" if found.outcome == "memorised" else f"and after {found.step:,} steps, of"
        return (
            f"{begun} By step {found.memorised_at:,} it knew them by heart, {rest} the {tested:,} cells that it never "
            f"saw, {test} are right."
        )
    return f"{begun} After {found.step:,} steps it has {train} of them right, and {test} of the {tested:,} others."
