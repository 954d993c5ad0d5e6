"""What Figures 2 and 3 share: one training at the paper's settings, its curves, and the claims of the captions.

The captions say that the mean IPR rises monotonically while the network groks. The paper's IPR counts frequency zero
as a wave like any other. But a network first learns the mean of the answers, a constant: the share of frequency zero
in the readouts swells and shrinks again before any wave is there, and takes the mean IPR with it. The claim is judged
by the paper's own IPR; what the waves alone do, frequency zero left out, until the test rows are learned, and what
weight decay does to them afterwards, is told beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from modgrok.base.progress import Progress
from modgrok.base.results import percent
from modgrok.inspection.order import Places
from modgrok.inspection.spectrum import block_power, periodicity
from modgrok.networks.models import Blocks
from modgrok.reproduction.item import ItemResult, Summary, Values, Verdict
from modgrok.training.checkpoints import begin
from modgrok.training.config import TrainConfig
from modgrok.training.diagnosis import LEARNED, passed_at

MONOTONE = "the mean IPR rises monotonically while the network groks"
PUBLISHED = {
    "accuracy": "100 % on training and test rows, the test rows later: the well-known grokking phenomenon",
    "ipr": "the mean IPR increases monotonically; that of the analytical solution is 1",
}
"""What the two captions say."""

JITTER = 0.005
"""A fall of the mean IPR by less than this is jitter of the optimiser."""


def compute_training(
    item: str,
    title: str,
    config: TrainConfig,
    shown_ipr: str,
    steps_shown: tuple[int, ...],
    progress: Progress,
) -> ItemResult:
    """The item's result; `shown_ipr` is the column of the metrics that stands for the captions' mean IPR."""
    training = begin(config)
    initial = np.asarray(training.neurons().ipr)
    waves, constants = [], []
    for step in config.measured_steps():
        training = training.segment(step - training.step)
        found = periodic_part(training.shape.model.blocks(training.params), training.order.places)
        waves.append(found[0])
        constants.append(found[1])
        progress(step, config.steps)
    neurons = training.neurons()
    final, alive = np.asarray(neurons.ipr), np.asarray(neurons.alive)
    curves = training.curves() | {"ipr_waves": np.array(waves), "constant_share": np.array(constants)}
    last = {name: float(column[-1]) for name, column in curves.items()}
    memorised, grokked = passed_at(curves, "train_accuracy"), passed_at(curves, "test_accuracy")
    until = len(curves["step"]) if grokked is None else 1 + int(np.searchsorted(curves["step"], grokked))
    fall, fell_at = largest_fall(curves["step"], curves[shown_ipr])
    fall_of_waves, _ = largest_fall(curves["step"][:until], curves["ipr_waves"][:until])
    fall_later, _ = largest_fall(curves["step"], curves["ipr_waves"])
    claims = {
        "every training and test row is learned": last["train_accuracy"] == last["test_accuracy"] == 1.0,
        "the test rows come after the training rows": memorised is not None
        and grokked is not None
        and memorised < grokked,
        MONOTONE: fall < JITTER,
    }
    return ItemResult(
        item=item,
        title=title,
        settings=config.to_json(),
        published=PUBLISHED,
        measured=last
        | {
            "memorised_at": memorised,
            "grokked_at": grokked,
            "fall_of_ipr": fall,
            "fall_of_waves": fall_of_waves,
            "fall_of_waves_later": fall_later,
            "largest_constant_share": max(constants),
            "claims": claims,
        },
        verdict=verdict_on(claims),
        notes=(
            f"{percent(LEARNED, 0)} of the training set from step {memorised}, of the test set from step {grokked}; "
            f"{int(last['alive'])} of {config.width} neurons are alive at the end.",
            *monotone_notes(curves, fall, fell_at, fall_of_waves, fall_later),
        ),
        columns={
            "step": "step",
            "train_loss": "train loss",
            "test_loss": "test loss",
            "train_accuracy": "train accuracy",
            "test_accuracy": "test accuracy",
            "ipr": "mean IPR",
            "ipr_alive": "IPR of living",
            "alive": "alive",
        },
        rows=[row_at(curves, step) for step in steps_shown if step <= config.steps],
        data={
            "curves": {name: column.tolist() for name, column in curves.items()},
            "neurons": {
                "ipr_initial": np.round(initial.astype(float), 4).tolist(),
                "ipr_final": np.round(final.astype(float), 4).tolist(),
                "alive": alive.tolist(),
            },
        },
    )


def periodic_part(blocks: Blocks, places: Places) -> tuple[float, float]:
    """The mean IPR of the living neurons without frequency zero, and its share in their readouts, the last block."""
    blocks = blocks._replace(weights=np.asarray(blocks.weights))
    found = periodicity(blocks, places, constants=False)
    readout = block_power(blocks, places)[-1]
    share = readout[:, 0] / np.maximum(readout.sum(axis=-1), np.finfo(readout.dtype).tiny)
    return float(found.mean_alive()), float(share[found.alive].mean())


def monotone_notes(
    curves: dict[str, np.ndarray], fall: float, fell_at: int, fall_of_waves: float, fall_later: float
) -> Iterator[str]:
    """Where the mean IPR falls, and why."""
    later = f", and by {fall_later:.3f} later, when weight decay removes neurons" if fall_later >= JITTER else ""
    falls = f"falls by {fall_of_waves:.4f} at most" if fall_of_waves >= 0.00005 else "never falls"
    yield f"Without frequency zero, the mean of each block, the mean IPR {falls} while the network groks{later}."
    if fall >= JITTER:
        start, peak, last = (curves["constant_share"][k] for k in (0, int(curves["constant_share"].argmax()), -1))
        yield (
            f"With it, the mean IPR falls by {fall:.3f} at step {fell_at}: the readouts first learn the mean of the "
            f"answers, and the share of frequency zero in them goes from {percent(start, 0)} to {percent(peak, 0)} and "
            f"back to {percent(last, 0)}."
        )


def verdict_on(claims: dict[str, bool]) -> Verdict:
    if all(claims.values()):
        return Verdict.REPRODUCED
    return Verdict.PARTLY if any(claims.values()) else Verdict.DIFFERS


def largest_fall(steps: np.ndarray, values: np.ndarray) -> tuple[float, int]:
    """How far a curve falls below its own maximum so far, and at which step."""
    falls = np.maximum.accumulate(values) - values
    return float(falls.max()), int(steps[falls.argmax()])


def row_at(curves: dict[str, np.ndarray], step: int) -> Values:
    place = int(np.flatnonzero(curves["step"] == step)[0])
    row: Values = {name: float(column[place]) for name, column in curves.items()}
    return row | {"step": step, "alive": int(row["alive"])}


def summarise(result: ItemResult) -> Summary:
    measured = result.measured
    failed = [claim for claim, holds in measured["claims"].items() if not holds]
    first, last = (result.data["curves"]["ipr_alive"][k] for k in (0, -1))
    why = "all claims of the caption hold" if not failed else f"it does not hold here that {' and that '.join(failed)}"
    dip = ""
    if MONOTONE in failed:
        dip = f", with a dip of {measured['fall_of_ipr']:.2f} on the way"
        why += (
            f" (it falls by {measured['fall_of_ipr']:.2f}, since the readouts learn the mean of the answers first; "
            f"without that constant it falls by {measured['fall_of_waves']:.4f} at most until the network has grokked)"
        )
    return Summary(
        "grokking to 100 %, and a mean IPR that rises monotonically towards the analytical solution's 1",
        f"test accuracy {100 * measured['test_accuracy']:g} %, {percent(LEARNED, 0)} of the training set from step "
        f"{measured['memorised_at']} and of the test set from step {measured['grokked_at']}; IPR {first:.2f} → "
        f"{last:.2f} (living neurons){dip}",
        why,
    )
