"""Sentences that exclude each other, and a reader who finds them in what was printed; it knows words and numbers alone.

A pair is two patterns that must not both be found in what one answer, or one training, says on all its surfaces
together. The relations after them read numbers out of the sentences and compare them: with each other, and with the
JSON object beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

USUAL_STEPS = 1000
"""Of an x² network with AdamW."""
LEAST = 0.1
"""The least share of a table that was trained on: from less, nothing is known of what groks from there on."""

ANSWER_PAIRS = (
    # whether a network learns it
    (r"is not known", r"is expected to grok from"),
    (
        r"is not known|accuracy not known",
        r"should learn it|hardly learn|learns (most|more than half|a part)|often learns",
    ),
    (r"is not known|accuracy not known", r": expect [\d.]+ %"),
    (r"No closer number is known", r": expect [\d.]+ %"),
    (r"should learn it", r"hardly learn|learns (most|more than half|a part)|often learns|It is open whether"),
    (r"accuracy 99 % or more|accuracy 9[5-9] %", r"hardly learn"),
    (r"accuracy below 99 %", r"should learn it"),
    (r"accuracy [0-4]?\d %", r"should learn it|often learns|learns most"),
    (r"a probe trains one small network", r"should learn it|hardly learn"),
    # what it is
    (r"is neither a |is no (sum|product)|is not h\(", r"a witness, checked on every cell"),
    (r"is neither a |is no (sum|product)|is not h\(", r"in disguise: this effort did not decide"),
    (r"may be a |did not decide", r"a witness, checked on every cell"),
    (r"may be a |did not decide", r"that is proved"),
    (r"that is proved", r"no witness and no proof with this effort"),
    (r"the search excluded it", r"that is proved"),
    (r" is a (sum|product)", r"is neither a |is no (sum|product)|may be a "),
    (r"is constant[.;]", r"depends on one variable alone"),
    (r"is constant[.;]|depends on one variable alone", r"is expected to grok|: expect [\d.]+ %"),
    (r"agrees in its .* known cells", r"is expected to grok"),
    (r"no two rows and no two columns are equal", r"have a twin in"),
    (r"no shift (and no scaling )?permutes", r"of the [\d,]+ shifts "),
)
"""Of what `classify` says."""

TRAINING_PAIRS = (
    (r"Still improving|Only memorised|Stuck", r"grokked_at': \d"),
    (r"Still improving|Only memorised|Stuck", r"test set right at step|99 % of it (from|first at) step"),
    (r"Grokked", r"grokked_at': None"),
    (r"Grokked", r"Only memorised|Stuck|Diverged|Collapsed|Still improving|there is no test set"),
    (r"Grokked: ", r"Likely cause|[Gg]o on with|slipped"),
    (r"Grokked and slipped", r"'outcome': 'grokked'"),
    (r"Diverged|Collapsed", r"[Gg]o on (with|to)|Still improving|no longer improving"),
    (r"no longer improving", r"[Gg]o on|is falling"),
    (r"there is no test set", r"% of the test set|grokked_at': \d|it reached (more|less)"),
    (r"Stopped before its", r"too few steps|no longer improving|Likely cause.*--steps"),
    (r"steps were taken", r"too few steps|no longer improving"),
    (r"should learn it|often learns", r"too little data"),
    (r"after \d\d? steps|only memorised at step", r"too little data|too weak|not h\("),
    (r"never of the training set", r"memorised_at': \d"),
    (r"weight decay too strong \(0[,)]", r""),
    (r"weight decay too weak", r"weight decay too strong"),
    (r"about chance", r"above chance"),
    (r"it reached more", r"it reached less"),
    (r"[Nn]o test accuracy to expect", r"training loss alone"),
    (r"\btrain +[\d.]+ +100 % +never", r""),
    (r"\btest +[\d.]+ +100 % +never", r""),
)
"""Of what is said of a training; a second pattern that is empty means that the first must not be found at all."""

OLD = {
    "not known, and expected to grok": (
        ANSWER_PAIRS,
        "Whether a network learns it from half of its table is not known: no trainings of the census are enough like "
        "this one (the nearest 40 are up to 1.2 away, and 1.0 is the limit). It is expected to grok from about 16 % of "
        "the table.",
    ),
    "improving, and grokked": (
        TRAINING_PAIRS,
        "Still improving: 98.49 % of the test rows, and the test loss is falling. Likely cause: too few steps; go on "
        "to 600 steps. {'memorised_at': 40, 'grokked_at': 180}",
    ),
    "learned from half, and too little data": (
        TRAINING_PAIRS,
        "Only memorised: 100 % of the training set right, 0.38 % of the test set (about chance). Likely cause: too "
        "little data (fraction 0.5 of the table); try a fraction of 0.7. n1 + n2 mod 23 is a sum. A network should "
        "learn it from half of its table: expect 100 % of the unseen cells right.",
    ),
    "stopped, and too few steps": (
        TRAINING_PAIRS,
        "Still improving: 40.00 % of the test rows, and the test loss is falling. Likely cause: too few steps; go on "
        "to 6000 steps. Stopped before its 3000 steps; go on with: modgrok train --resume runs/mine",
    ),
}
"""What was once printed, word for word."""


def excluded(pairs: tuple[tuple[str, str], ...], text: str) -> list[str]:
    """The pairs that are both in a text."""
    flat = " ".join(text.split())
    return [f"{a!r} beside {b!r}" for a, b in pairs if re.search(a, flat) and re.search(b, flat)]


def answer_faults(text: str, told: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with an answer of `classify`: its words on all surfaces, and its JSON object."""
    yield from excluded(ANSWER_PAIRS, text)
    learning, fraction = told["answer"][1], told["fraction"]
    expected, outcome = told["expected_accuracy"], told["outlook"]["outcome"]
    half = re.search(r"grok from about ([\d.]+) % of the table", learning)
    if (half is None) != (told["enough"] is None):
        yield "a share that is enough is in the sentence or in the object alone"
    if half is not None and outcome == "unknown" and not fraction < told["enough"] <= LEAST:
        yield f"not known from {fraction:.0%} of the table, and it is expected to grok from {half[1]} %"
    if half is not None and told["enough"] <= fraction and outcome not in ("learned", "often"):
        yield f"enough is {half[1]} % of the table, {fraction:.0%} is trained on, and it is {outcome}"
    if half is not None and told["enough"] > fraction and (outcome == "learned" or (expected["value"] or 0) >= 0.99):
        yield f"enough is {half[1]} % of the table, {fraction:.0%} is trained on, and it is {outcome}"
    number = re.search(r": expect ([\d.]+) %", learning)
    if (number is None) != (expected["value"] is None):
        yield "a number is in the sentence or in the object alone"
    if number is not None and not expected["low"] <= expected["value"] <= expected["high"]:
        yield "the accuracy to expect lies outside its interval"
    if number is not None and abs(float(number[1]) / 100 - expected["value"]) > 0.011:
        yield f"the sentence expects {number[1]} %, the object {expected['value']}"
    more = re.search(r"train on more than ([\d.]+) %", told["outlook"]["advice"])
    if more is not None and float(more[1]) / 100 < fraction - 0.005:
        yield f"advised to train on more than {more[1]} %, and {fraction:.0%} is asked about"
    said = re.search(r" got ([\d.]+) % of them right(, (more|less) than was to be expected)?", learning)
    if said is not None and expected["value"] is not None:
        reached = told["probe"]["test_accuracy"]
        beyond = "more" if reached > expected["high"] else "less" if reached < expected["low"] else None
        if said[3] != beyond:
            yield f"the probe's {reached} is told as {said[3]}, expected {expected}"
    if (
        said is not None
        and float(said[1]) >= 99
        and said[3] is None
        and re.search("hardly|Whether a network", learning)
    ):
        yield "the probe learned it, and a network will not"
    yield from verdict_faults(told)


def verdict_faults(told: Mapping[str, Any]) -> Iterator[str]:
    """The first sentence against the verdicts of the families."""
    what, verdict = told["answer"][0], told["verdict"]
    none = re.search(r"is neither a |is no (sum|product)|is not h\(", what) is not None
    if none != (verdict == "not-in-class") or ("did not decide" in what) != (verdict == "unknown"):
        yield f"{what!r} is said of {verdict}"
    if ("that is proved" in what) != (none and all(family["proved"] for family in told["families"])):
        yield "what is proved and what is said to be differ"
    if (verdict == "in-class") != (told["witness"] is not None) or none != (told["obstruction"] is not None):
        yield f"{verdict} without what shows it"
    function = told["function"]
    if "known cells" in what and function["known_cells"] == prod(function["sizes"]):
        yield "unknown cells of a table without any"


def training_faults(text: str, told: Mapping[str, Any], chance: float) -> Iterator[str]:
    """What is wrong with what is said of a training: its words on all surfaces, and its JSON object.

    `chance` is the share of the table's cells with the commonest value.
    """
    both = {name: told[name] for name in ("memorised_at", "grokked_at")} | {"outcome": told["diagnosis"]["outcome"]}
    yield from excluded(TRAINING_PAIRS, f"{text} {both}")
    diagnosis, final, steps = told["diagnosis"], told["final"], told["config"]["steps"]
    tested, outcome = final["test_accuracy"], diagnosis["outcome"]
    for number in re.findall(r"[Gg]o on to step (\d+)|--steps (\d+)", text):
        step = int(number[0] or number[1])
        if step != (steps if not told["finished"] else USUAL_STEPS if 20 * steps < USUAL_STEPS else 2 * steps):
            yield f"advised to go on to {step}, at step {told['step']} of {steps}"
    if (outcome in ("grokked", "slipped")) and told["grokked_at"] is None:
        yield f"{outcome}, and never 99 %"
    if outcome in ("grokked", "slipped") and (tested >= 0.95) != (outcome == "grokked"):
        yield f"{outcome} with {tested}"
    if outcome not in text:
        yield f"the word {outcome} is not said"
    enough = re.search(r"grok from about ([\d.]+) % of the table", text)
    fraction = re.search(r"try a fraction of (\d\.\d+)", text)
    if fraction is not None and enough is not None and 100 * float(fraction[1]) < float(enough[1]):
        yield f"a fraction of {fraction[1]} is advised, and it is expected to grok from {enough[1]} %"
    if outcome == "memorised" and 20 * told["step"] < USUAL_STEPS and told["finished"] and "too few steps" not in text:
        yield f"{told['step']} steps, and nothing is said of them"
    if fraction is not None and float(fraction[1]) <= told["config"]["fraction"]:
        yield f"a fraction of {fraction[1]} is advised, and {told['config']['fraction']} was trained on"
    if re.search(r"about chance", text) and tested >= 2 * chance:
        yield f"{tested} is about chance, and a guess gets {chance}"
    expected = told["expected_accuracy"]
    if ("From its training loss alone" in text) != (expected["value"] is not None):
        yield "an expectation in words or in numbers alone"
    if expected["value"] is not None and tested is not None:
        beyond = "more" if tested > expected["high"] else "less" if tested < expected["low"] else None
        said = re.search(r"it reached (more|less)", text)
        if (said[1] if said else None) != beyond:
            yield f"{tested} is told as {said and said[1]}, expected {expected['low']} to {expected['high']}"
