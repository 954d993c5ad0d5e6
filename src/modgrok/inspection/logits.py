"""What the logits of a network compute, whatever its model is.

Let the function be h(g_1(n_1) + … + g_S(n_S)) over Z_m, with the places g_s and h of its witness, and s the sum of a
row's places. The logits of the analytical solution are, up to a number that all classes of a row share,

    logit(row, q) = Σ_f A_f K_f(s, q)        K_f(s, q) = Σ over t with h(t) = q of cos(2π f (s - t) / m)

with A_f > 0: every K_f peaks at the right class. If h takes each value once, K_f is cos(2π f (s - h⁻¹(q)) / m). So
the question "is this the analytical solution?" has a number for every network: take the logits L on all rows,
subtract from each row its mean over classes (softmax and argmax ignore it), and fit the A_f by least squares. Then

    analytical share = ‖Σ_f A_f K_f‖² / ‖L‖² = Σ_f A_f ⟨L, K_f⟩ / ‖L‖²

and the summand of f is the share of that frequency. The K_f are orthogonal where all sums and classes occur equally
often, and a share is then that of one projection. White noise has a share of (number of K_f) / (rows · (classes - 1)).

An upper bound of it is the sum share: that of all functions of (s, q), whatever their form, whose mean over rows is 0.
White noise has about 1/m of it.

Only rows and classes that have places take part: in a product, zero is apart.

The key frequencies are the fewest f >= 1 that hold 95 % of the analytical part, among those with A_f > 0; there are
none where that part is about what noise would have. The restricted logits keep nothing but their terms (and K_0, which
is the same for all rows), the excluded logits everything but their terms. A network that computes with them has a
restricted loss as low as its own and an excluded loss as high as guessing; one that has memorised its training rows
has it the other way round, on those rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Complex, Float, Int

from modgrok.base.results import Result, percent, plain_object
from modgrok.inspection.input_spectrum import InputSpectrum, input_spectrum
from modgrok.inspection.order import NO_ORDER, Labels, named_order, order_of, witness_of
from modgrok.networks.losses import LOSSES, losses_of_rows
from modgrok.networks.network import Network
from modgrok.networks.verification import answers, known_cells

HELD_BY_KEY = 0.95
"""Share of the analytical part that the key frequencies hold."""
ABOVE_NOISE = 4
"""There are key frequencies where the analytical part has so many times the share that it has of white noise."""
LARGEST_LOGITS = 1 << 25
"""Most logits, rows times classes, that are looked at."""
DEPENDENT = 1e-9
"""Templates whose Gram matrix has smaller eigenvalues than this share of the largest are no longer told apart."""


@dataclass(frozen=True, eq=False)
class Templates:
    """The K_f of a witness on the pairs of a sum and a class, and which rows have which sum."""

    order_name: ClassVar[str | None] = None
    """What the order is called, where its places lie on no circle."""
    labels: Labels
    rows: Int[np.ndarray, "row"]
    """Numbers of the rows whose inputs all have places, in the order of the table."""
    sums: Int[np.ndarray, "row"]
    classes: Int[np.ndarray, "class"]
    """The classes that have places, rising."""

    @classmethod
    def of(cls, labels: Labels) -> Templates:
        shape = (labels.tables.shape[1],) * len(labels.tables)
        inputs = np.indices(shape).reshape(len(shape), -1)
        places = np.stack([table[n] for table, n in zip(labels.tables, inputs, strict=True)])
        rows = np.flatnonzero((places >= 0).all(axis=0))
        return cls(labels, rows, places[:, rows].sum(axis=0) % labels.period, labels.classes)

    @property
    def rows_apart(self) -> int:
        """How many rows of the table have an input without a place."""
        return int(self.labels.tables.shape[1] ** len(self.labels.tables)) - len(self.rows)

    @cached_property
    def kernel(self) -> Float[np.ndarray, "frequency sum class"]:
        """K_f(s, q) without its mean over classes, for f = 0 … m/2."""
        m, frequency = self.labels.period, np.arange(self.labels.period // 2 + 1)
        turns = np.exp(2j * np.pi / m * (np.outer(frequency, np.arange(m)) % m))
        fibres: Complex[np.ndarray, "frequency class"] = np.zeros((len(frequency), len(self.classes)), complex)
        reached = self.labels.reached
        np.add.at(fibres.T, np.searchsorted(self.classes, self.labels.outputs[reached]), turns.T[reached])
        kernel = (turns[:, :, None] * fibres.conj()[:, None, :]).real
        return np.asarray(kernel - kernel.mean(axis=-1, keepdims=True))

    @cached_property
    def gram(self) -> Float[np.ndarray, "frequency frequency"]:
        """⟨K_f, K_f'⟩ over all rows and classes."""
        flat = (self.kernel * np.sqrt(self.counts)[None, :, None]).reshape(len(self.kernel), -1)
        return np.asarray(flat @ flat.T)

    @cached_property
    def counts(self) -> Int[np.ndarray, "sum"]:
        """How many rows have each sum."""
        return np.bincount(self.sums, minlength=self.labels.period)

    @cached_property
    def answers(self) -> Int[np.ndarray, "row"]:
        """The right class of every row, as its number among `classes`."""
        return np.asarray(np.searchsorted(self.classes, self.labels.outputs[self.sums]))

    @cached_property
    def rank(self) -> int:
        """How many of the K_f are independent."""
        return int(np.linalg.matrix_rank(self.gram, tol=DEPENDENT * self.gram.max(), hermitian=True))

    @property
    def noise_share(self) -> float:
        """The analytical share of white noise."""
        return self.rank / (len(self.rows) * max(len(self.classes) - 1, 1))

    def centred(self, logits: Float[np.ndarray, "table p"]) -> Float[np.ndarray, "row class"]:
        """The logits of rows and classes that have places, each row without its mean."""
        own = logits[self.rows][:, self.classes]
        return np.asarray(own - own.mean(axis=1, keepdims=True))

    def mean_by_sum(self, centred: Float[np.ndarray, "row class"]) -> Float[np.ndarray, "sum class"]:
        """The mean over the rows of each sum; 0 where no row has it."""
        by_sum = np.argsort(self.sums, kind="stable")
        present = np.flatnonzero(self.counts)
        means = np.zeros((self.labels.period, len(self.classes)))
        starts = np.cumsum(self.counts[present]) - self.counts[present]
        means[present] = np.add.reduceat(centred[by_sum], starts, axis=0) / self.counts[present, None]
        return means

    def fit(
        self, centred: Float[np.ndarray, "row class"]
    ) -> tuple[Float[np.ndarray, "frequency"], Float[np.ndarray, "frequency"]]:
        """A_f by least squares, and the share A_f ⟨L, K_f⟩ / ‖L‖² of each frequency."""
        products = np.tensordot(self.kernel, self.counts[:, None] * self.mean_by_sum(centred), axes=2)
        a = np.linalg.lstsq(self.gram, products, rcond=DEPENDENT)[0]
        total = np.sum(centred**2)
        return a, a * products / (total if total > 0 else 1)

    def terms(
        self, coefficients: Float[np.ndarray, "frequency"], chosen: Sequence[int]
    ) -> Float[np.ndarray, "row class"]:
        """Σ A_f K_f over the chosen frequencies, on every row."""
        kept = list(chosen)
        return np.asarray(np.tensordot(coefficients[kept], self.kernel[kept], axes=1)[self.sums])


@dataclass(frozen=True, eq=False, repr=False)
class LogitsView(Result):
    """What the logits of a network compute; see the module's docstring, and docs/inspect.md for the JSON keys.

    Where the function has no known witness, `templates` is None, there is no analytical form to compare with, and
    `why` says so; the spectrum of the logits over the inputs remains.
    """

    network: Network
    order: str
    input_spectrum: InputSpectrum | None
    why: str | None = None
    templates: Templates | None = None
    coefficients: Float[np.ndarray, "frequency"] | None = None
    shares: Float[np.ndarray, "frequency"] | None = None
    mean_by_sum: Float[np.ndarray, "sum class"] | None = None
    variance: float | None = None
    key_frequencies: tuple[int, ...] = ()
    loss: str = "cross-entropy"
    losses: Mapping[str, Mapping[str, float]] | None = None
    accuracies: Mapping[str, Mapping[str, float]] | None = None

    @property
    def analytical_share(self) -> float | None:
        return None if self.shares is None else float(self.shares.sum())

    @property
    def sum_share(self) -> float | None:
        """The share of variance that depends on a row, and on it through the sum of its places alone, in any form."""
        if self.templates is None or self.mean_by_sum is None or self.variance is None:
            return None
        counts = self.templates.counts[:, None]
        of_all_rows = np.sum(counts * self.mean_by_sum, axis=0) / counts.sum()
        held = np.sum(counts * (self.mean_by_sum - of_all_rows) ** 2)
        return float(held / self.variance) if self.variance else 0.0

    @property
    def key_share(self) -> float | None:
        """The share of variance that the key frequencies hold."""
        return None if self.shares is None else float(self.shares[list(self.key_frequencies)].sum())

    def summary(self) -> str:
        about = f"{self.network.title}, {self.network.model.name}"
        if self.shares is None:
            return f"{about}: {self.why}"
        return (
            f"{about}: {percent(self.analytical_share, 1)} of the logits' variance on the analytical form, "
            f"{len(self.key_frequencies)} key frequencies"
        )

    def to_json(self) -> dict[str, Any]:
        found = self.templates
        shares = () if self.shares is None else enumerate(self.shares.tolist())
        return plain_object(
            {
                "order": self.order,
                "why": self.why,
                "group_order": None if found is None else found.labels.period,
                "rows_placed": None if found is None else len(found.rows),
                "classes": None if found is None else len(found.classes),
                "analytical_share": self.analytical_share,
                "sum_share": self.sum_share,
                "noise_share": None if found is None else found.noise_share,
                "shares": {f: share for f, share in shares if share},
                "key_frequencies": self.key_frequencies,
                "key_share": self.key_share,
                "loss": self.loss,
                **{f"{name}_loss": (self.losses or {}).get(name) for name in VERSIONS},
                **{f"{name}_accuracy": (self.accuracies or {}).get(name) for name in VERSIONS},
                "input_spectrum": None if self.input_spectrum is None else self.input_spectrum.to_json(),
            }
        )


VERSIONS = ("full", "restricted", "excluded")
"""The logits themselves, the key frequencies' terms alone, and everything but them."""


def logits_view(
    network: Network,
    *,
    training: Bool[np.ndarray, "table"] | None = None,
    key_frequencies: Sequence[int] | None = None,
    spectrum: bool = True,
    templates: Templates | None = None,
) -> LogitsView:
    """Look at the logits of a network on its whole table.

    `training` tells which rows of the table it was trained on, where that is known. `key_frequencies` are those of
    another network, such as the end of a training that this one is a moment of. Without `spectrum` the spectrum over
    the inputs is left out. `templates` are the analytical form, where that is not to be found from the function.
    """
    loss = str(network.settings.get("loss", "cross-entropy"))
    loss = loss if loss in LOSSES else "cross-entropy"  # one that only the process that trained it knows
    count = network.rows * network.model.classes
    if count > LARGEST_LOGITS:
        why = f"the table has {count:,} logits, more than the {LARGEST_LOGITS:,} that are looked at"
        return LogitsView(network, order_of(network.function).name, None, why, loss=loss)
    logits = whole_logits(network)
    labels = witness_of(network.function) if templates is None else templates.labels
    order = named_order(labels) or order_of(network.function)
    if not np.isfinite(logits).all():
        why = "some logits are no finite numbers: the training diverged"
        return LogitsView(network, order.name, None, why, loss=loss)
    circle = order.name != NO_ORDER and (templates is None or templates.order_name is None)
    inputs = input_spectrum(logits, network, labels, order) if spectrum and circle else None
    if labels is None:
        why = "no places g1, g2 and h are known for this function, so there is no analytical form to compare with"
        return LogitsView(network, order.name, inputs, why, loss=loss, **full_measures(network, logits, training, loss))
    templates = templates or templates_of(labels)
    centred = templates.centred(logits)
    coefficients, shares = templates.fit(centred)
    heard = float(shares.sum()) > ABOVE_NOISE * templates.noise_share
    own_keys = key_frequencies_of(coefficients, shares) if heard else ()
    keys = own_keys if key_frequencies is None else tuple(key_frequencies)
    key_terms = templates.terms(coefficients, keys)
    own = logits[templates.rows][:, templates.classes]
    restricted = own - centred + templates.terms(coefficients, (0, *keys))
    versions = dict(zip(VERSIONS, (own, restricted, own - key_terms), strict=True))
    parts = table_parts(templates.rows, training)
    return LogitsView(
        network,
        templates.order_name or order.name,
        inputs,
        templates=templates,
        coefficients=coefficients,
        shares=shares,
        mean_by_sum=templates.mean_by_sum(centred),
        variance=float(np.sum(centred**2)),
        key_frequencies=keys,
        loss=loss,
        losses={
            name: means(losses_of_rows(LOSSES[loss], table, templates.answers), parts)
            for name, table in versions.items()
        },
        accuracies={name: means(table.argmax(axis=1) == templates.answers, parts) for name, table in versions.items()},
    )


templates_of = lru_cache(maxsize=2)(Templates.of)
"""The templates of a witness; kept, since a film asks for the same ones at every step."""


def full_measures(
    network: Network, logits: Float[np.ndarray, "table p"], training: Bool[np.ndarray, "table"] | None, loss: str
) -> dict[str, Any]:
    """Loss and accuracy of the logits themselves, on every row whose answer is known: what needs no witness."""
    known = known_cells(network)
    rows = np.arange(network.rows) if known is None else np.asarray(known)
    right = np.asarray(answers(network, np.stack(np.unravel_index(rows, network.model.residues), axis=1)))
    own = logits[rows]
    parts = table_parts(rows, training)
    return {
        "losses": {"full": means(losses_of_rows(LOSSES[loss], own, right), parts)},
        "accuracies": {"full": means(own.argmax(axis=1) == right, parts)},
    }


def table_parts(
    rows: Int[np.ndarray, "row"], training: Bool[np.ndarray, "table"] | None
) -> dict[str, Bool[np.ndarray, "row"]]:
    """All of the rows, and where the split is known those that trained and those that did not."""
    parts = {"all": np.ones(len(rows), bool)}
    return parts if training is None else parts | {"train": training[rows], "test": ~training[rows]}


def whole_logits(network: Network) -> Float[np.ndarray, "table p"]:
    """The logits of every row of the table, in float64."""
    return np.asarray(network.logits(network.inputs()), np.float64)


def key_frequencies_of(
    coefficients: Float[np.ndarray, "frequency"], shares: Float[np.ndarray, "frequency"]
) -> tuple[int, ...]:
    """The fewest frequencies from 1 on that hold `HELD_BY_KEY` of what those with a positive coefficient hold."""
    held = np.where(coefficients > 0, np.maximum(shares, 0), 0)
    held[0] = 0
    if held.sum() == 0:
        return ()
    strongest = np.argsort(-held, kind="stable")
    reached = np.cumsum(held[strongest]) >= HELD_BY_KEY * held.sum()
    return tuple(sorted(int(f) for f in strongest[: int(np.argmax(reached)) + 1]))


def means(values: np.ndarray, parts: Mapping[str, Bool[np.ndarray, "row"]]) -> dict[str, float]:
    """The mean over each part of the rows that is not empty."""
    return {name: float(values[part].mean()) for name, part in parts.items() if part.any()}
