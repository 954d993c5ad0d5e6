"""What Figures 2 and 3 share: one training at the paper's settings, its curves, and the claims of the captions."""

from __future__ import annotations

import numpy as np

from modgrok.progress import Progress
from modgrok.reproduction.item import ItemResult, Summary, Values, Verdict
from modgrok.results import percent
from modgrok.training.checkpoints import begin
from modgrok.training.config import TrainConfig
from modgrok.training.diagnosis import LEARNED, passed_at

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
    periodicity: str,
    steps_shown: tuple[int, ...],
    progress: Progress,
) -> ItemResult:
    """The item's result; `periodicity` is the column of the metrics that the captions' IPR is compared with."""
    training = begin(config)
    initial = np.asarray(training.neurons().ipr)
    for step in config.measured_steps():
        training = training.segment(step - training.step)
        progress(step, config.steps)
    neurons = training.neurons()
    final, alive = np.asarray(neurons.ipr), np.asarray(neurons.alive)
    curves = training.curves()
    last = {name: float(column[-1]) for name, column in curves.items()}
    memorised, grokked = passed_at(curves, "train_accuracy"), passed_at(curves, "test_accuracy")
    fall, fell_at = largest_fall(curves["step"], curves[periodicity])
    claims = {
        "every training and test row is learned": last["train_accuracy"] == last["test_accuracy"] == 1.0,
        "the test rows come after the training rows": memorised is not None
        and grokked is not None
        and memorised < grokked,
        "the mean IPR rises monotonically": fall < JITTER,
    }
    return ItemResult(
        item=item,
        title=title,
        settings=config.to_json(),
        published=PUBLISHED,
        measured=last | {"memorised_at": memorised, "grokked_at": grokked, "fall_of_ipr": fall, "claims": claims},
        verdict=verdict_on(claims),
        notes=(
            f"{percent(LEARNED, 0)} of the training rows from step {memorised}, of the test rows from step {grokked}; "
            f"{int(last['alive'])} of {config.width} neurons are alive at the end.",
            f"The mean IPR falls at most {fall:.4f} below an earlier value, at step {fell_at}.",
            *(f"Not so here: {claim}." for claim, holds in claims.items() if not holds),
        ),
        columns={
            "step": "step",
            "train_loss": "train loss",
            "test_loss": "test loss",
            "train_accuracy": "train accuracy",
            "test_accuracy": "test accuracy",
            "ipr": "mean IPR",
            "ipr_alive": "of the living",
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
    why = "all claims of the caption hold" if not failed else f"not so here: {'; '.join(failed)}"
    if "the mean IPR rises monotonically" in failed:
        why += f" (it falls by {measured['fall_of_ipr']:.3f} at most)"
    return Summary(
        "grokking to 100 %, and a mean IPR that rises monotonically towards the analytical solution's 1",
        f"test accuracy {100 * measured['test_accuracy']:g} %, {percent(LEARNED, 0)} of training rows from step "
        f"{measured['memorised_at']} and of test rows from step {measured['grokked_at']}; IPR {first:.2f} → {last:.2f} "
        "(living neurons)",
        why,
    )
