"""modgrok classify: is it h(g1 + g2)? With a witness or a proof, and the test accuracy to expect."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.table import Table

from modgrok.algebra.function import read_function
from modgrok.answers.classifying import Answer, classify
from modgrok.commands.common import add_function, facts_table, given_function
from modgrok.progress import progress_bar
from modgrok.results import percent
from modgrok.separable.checking import write_certificate
from modgrok.separable.classification import FamilyVerdict
from modgrok.separable.decision import EFFORT
from modgrok.separable.verdict import Witness

SHOWN_ENTRIES, SHOWN_CHARACTERS = 12, 400
"""How many entries of g1, g2 and h, and how much of a proof people see; --json has it all."""

KEYS = {
    "expression": "the function, in canonical spelling",
    "variables": "names of the axes of its table",
    "modulus": "p; `null` for a table whose variables and values differ in number",
    "function": "what was asked about: `expression`, `name`, `variables`, `sizes`, `values`, `known_cells`, and "
    "`digest`, a name for the content of its table",
    "verdict": "`in-class`, `not-in-class` or `unknown`",
    "family": "the first family that fits: `constant`, `one-variable`, `additive`, `multiplicative`, or `null`",
    "group_order": "order of the cyclic group of that family: p, or p − 1 with an absorbing element; or `null`",
    "witness": "of that family: `g1`, `g2` (… `gS`), lists of p elements with `null` for ∞; `h`, a list of "
    "`group_order` values with `null` where free; `h_absorbing`, the value at ∞; or `null`",
    "obstruction": "where no family fits: `kind` (of the first family) and `explanation` (of all); else `null`",
    "families": "one object for each family that was tried: `family`, `verdict`, `group_order`, `absorbing`, "
    "`witness`, `obstruction`, `excluded` (what an `unknown` rules out), `steps` (of search)",
    "fraction": "share of the table that would be trained on",
    "redundancy": "share of test cells with a twin in the training part: equal rows and equal columns give them away",
    "expected_accuracy": "test accuracy to expect: `value` and its mean absolute `error` (both `null` where no "
    "calibration reaches), `reason`, and `source` (`table`)",
    "probe": "with --probe: the keys of `expected_accuracy`, with `source` `probe`, from the training loss of one "
    "small network; its `train_loss`, the `test_accuracy` that it reached (both `null` for a table too large to train "
    "on), `width`, `steps`, `fraction`, `seconds`; or `null`",
    "reasons": "verdict and redundancy in sentences",
    "seconds": "time taken",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_function(parser, "a polynomial such as '(4n1 + n2^2)^3 + n1 n2'")
    parser.add_argument("--fraction", type=float, default=0.5, help="share of the table that would be trained on")
    parser.add_argument(
        "--effort",
        type=float,
        default=EFFORT,
        help="how hard to try before the verdict is unknown, in steps of search: 1 is a few seconds at most",
    )
    parser.add_argument(
        "--certificate", type=Path, metavar="FILE", help="write witnesses and proofs, for `modgrok check FILE`"
    )
    parser.add_argument("--probe", action="store_true", help="train one small network too, and read its training loss")


def run(args: argparse.Namespace, console: Console) -> Answer:
    function = read_function(given_function(args, "classify"), args.mod, at_least=2)
    with progress_bar(console, "probing") if args.probe else nullcontext() as progress:
        answer = classify(
            function,
            fraction=args.fraction,
            effort=args.effort,
            probe=args.probe,
            progress=progress,
        )
    if args.certificate:
        write_certificate(args.certificate, function, [(found.family, found.verdict) for found in answer.families])
    return answer


def show(answer: Answer, console: Console, args: argparse.Namespace) -> None:
    console.print(answer.headline, style="bold", highlight=False, markup=False)
    console.print(f"expected test accuracy {answer.expected.text}: {answer.expected.reason}", highlight=False)
    console.print()
    console.print(families_table(answer.families))
    console.print()
    facts = witness_facts(answer.witness, answer.variables) if answer.witness else {}
    if answer.prediction_in_words:
        facts["unknown cells"] = answer.prediction_in_words
    facts["redundancy"] = f"{percent(answer.redundancy, 1)} at a training fraction of {answer.fraction:g}"
    if answer.probe is not None:
        facts["probe"] = answer.probe.summary()
    facts |= {"because": "\n".join(answer.reasons), "time": f"{answer.seconds:.3f} s"}
    console.print(facts_table(facts), highlight=False)


def families_table(families: tuple[FamilyVerdict, ...]) -> Table:
    table = Table("family", "group", "verdict", "why", box=None, pad_edge=False, header_style="bold")
    for found in families:
        verdict = found.verdict
        group = f"Z_{verdict.group_order}" + (" ∪ {∞}" if verdict.absorbing else "")
        why = verdict.excluded or "witness checked on every cell"
        if verdict.obstruction:
            why = verdict.obstruction.summary()
        table.add_row(found.family, group, verdict.status, shortened(why))
    return table


def shortened(text: str) -> str:
    """A proof may go through every value that ∞ could carry: the first ones show how."""
    return (
        text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS].rsplit(' ', 1)[0]} … (all of it: --json)"
    )


def witness_facts(witness: Witness, names: tuple[str, ...]) -> dict[str, str]:
    facts = {
        f"g{s}({name})": sequence(part, "∞") for s, (name, part) in enumerate(zip(names, witness.g, strict=True), 1)
    }
    facts[f"h on 0 … {witness.group_order - 1}"] = sequence(witness.h, "·")
    if witness.h_absorbing is not None:
        facts["h(∞)"] = str(witness.h_absorbing)
    return facts


def sequence(entries: tuple[int | None, ...], none: str) -> str:
    shown = " ".join(none if entry is None else str(entry) for entry in entries[:SHOWN_ENTRIES])
    return shown + (" …" if len(entries) > SHOWN_ENTRIES else "")
