"""modgrok classify: is it h(g1 + g2)? With a witness or a proof, and the test accuracy to expect."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from modgrok.algebra.function import Function, from_table, read_function
from modgrok.algebra.groups import group
from modgrok.algebra.polynomial import LARGEST_TABLE
from modgrok.answers.classifying import Answer, classify
from modgrok.answers.wording import brief
from modgrok.base.errors import InputError
from modgrok.base.printing import facts_table
from modgrok.base.progress import line_every_few_seconds, progress_bar
from modgrok.commands.common import add_function, given_function, structure_given
from modgrok.inspection.wrapping import wrap
from modgrok.loss_law.from_table import MODEL_NAMES
from modgrok.networks.predicting import answered_table
from modgrok.networks.storage import is_own_file, load
from modgrok.separable.checking import write_certificate
from modgrok.separable.classification import FamilyVerdict
from modgrok.separable.decision import EFFORT
from modgrok.separable.verdict import Witness, in_symbols

SHOWN_ENTRIES = 24
"""How many entries of g1, g2 and h people see; --json has them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_function(parser, "a polynomial such as '(4n1 + n2^2)^3 + n1 n2'")
    parser.add_argument(
        "--network",
        type=Path,
        metavar="FILE",
        help="classify the answers of a network instead: a file of modgrok's or of other people's",
    )
    parser.add_argument(
        "--fraction", type=float, default=0.5, help="share of the table that a network would train on (default 0.5)"
    )
    parser.add_argument(
        "--effort",
        type=float,
        default=EFFORT,
        help="how hard to search before the verdict is unknown (default 1: at most about 10 seconds of one core)",
    )
    parser.add_argument(
        "--certificate", type=Path, metavar="FILE", help="write witnesses and proofs, for `modgrok check FILE`"
    )
    parser.add_argument(
        "--proof",
        action="store_true",
        help="show the witness, why each other family does not fit, and symmetries of the table",
    )
    parser.add_argument(
        "--model",
        choices=tuple(MODEL_NAMES),
        default="power",
        help="the network that would be trained: power is the two-layer x² network (default power)",
    )
    parser.add_argument(
        "--curve",
        nargs="?",
        const="curve",
        metavar="STEM",
        help="also tell what to expect at other shares of the table, and draw it to STEM.png and STEM.svg (curve.png)",
    )
    parser.add_argument(
        "--probe",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="also train one small network of that model, and see how much it learns (by default where nothing else is "
        "known and it takes a few seconds)",
    )


def run(args: argparse.Namespace, console: Console) -> Answer:
    if args.network:
        function = answered(args)
    else:
        function = read_function(given_function(args, "classify"), args.mod, **structure_given(args), at_least=2)
    waiting = line_every_few_seconds(console, lambda: f"classifying {function.title}")
    words = "probing" if args.probe else "expecting"
    with progress_bar(console, words) if args.probe or args.curve else waiting as progress:
        answer = classify(
            function,
            fraction=args.fraction,
            effort=args.effort,
            model=args.model,
            probe=args.probe,
            curve=args.curve is not None,
            progress=progress,
        )
    if answer.curve is not None and answer.curve.known:
        from modgrok.figures.shares import curve_figure  # with matplotlib: nobody else waits for it
        from modgrok.figures.style import save_figure

        whole = function.known is None
        save_figure(curve_figure(answer.curve, function.title, args.model, args.fraction, whole), args.curve)
    if args.certificate:
        write_certificate(args.certificate, function, [(found.family, found.verdict) for found in answer.families])
    return answer


def answered(args: argparse.Namespace) -> Function:
    """The table of a network's answers, modgrok's own or of other people; unknown where it has none."""
    if args.expression is not None or args.table is not None:
        raise InputError("classify needs one function: an expression, --table or --network, got several")
    path: Path = args.network
    own = path.is_dir() or is_own_file(path)
    network = load(path) if own and args.mod is None else wrap(path, mod=args.mod)
    if network.rows > LARGEST_TABLE:
        raise InputError(f"{path} has a table of {network.rows:,} cells, above the limit of {LARGEST_TABLE:,}")
    answers = answered_table(network)
    if answers.max() < 0:
        raise InputError(f"{path} has no answer on any input: its best logits are equal, or no numbers; train it again")
    return from_table(answers, network.model.classes, path.name, tuple(network.variables))


def show(answer: Answer, console: Console, args: argparse.Namespace) -> None:
    what, learning = answer.answer
    console.print(what, style="bold")
    console.print(learning)
    console.print()
    console.print(families_table(answer.families))
    console.print()
    facts = answer.facts()
    if answer.function.read_as:
        facts = {"read as": answer.function.read_as} | facts
    if args.proof:
        facts |= {found.family: found.verdict.summary() for found in answer.families if not found.verdict.in_class}
        facts |= witness_facts(answer.witness, answer.variables) if answer.witness else {}
    else:
        facts.pop("symmetry", None)
        if not answer.redundancy:
            facts.pop("twins", None)  # there are none
    if answer.curve is not None and answer.curve.known:
        facts["drawn in"] = f"{args.curve}.png, {args.curve}.svg"
    if args.certificate:
        facts["written to"] = f"{args.certificate}; prove it again with: modgrok check {args.certificate}"
    hint = "" if args.proof or args.certificate else "; witness and proofs: --proof, or --certificate FILE"
    facts["time"] = f"{answer.seconds:.3f} s{hint}"
    console.print(facts_table(facts))


def families_table(families: tuple[FamilyVerdict, ...]) -> Table:
    table = Table("family", "group", "verdict", "why", box=None, pad_edge=False, header_style="bold")
    for found in families:
        verdict = found.verdict
        table.add_row(found.family, in_symbols(verdict.group), verdict.status, brief(found))
    return table


def witness_facts(witness: Witness, names: tuple[str, ...]) -> dict[str, str]:
    elements = None if witness.group_name is None else group(witness.group_name).words_of_elements
    facts = {
        f"g{s}({name})": sequence([elements[x] if elements and x is not None else x for x in part], "∞")
        for s, (name, part) in enumerate(zip(names, witness.g, strict=True), 1)
    }
    if elements is not None:
        facts["elements"] = sequence(elements, "·", ", ")
    facts[f"h on {'them' if elements else f'0 … {witness.group_order - 1}'}"] = sequence(witness.h, "·")
    if witness.h_absorbing is not None:
        facts["h(∞)"] = str(witness.h_absorbing)
    return facts


def sequence(entries: Sequence[int | str | None], none: str, between: str = " ") -> str:
    shown = between.join(none if entry is None else str(entry) for entry in entries[:SHOWN_ENTRIES])
    return shown + (" …" if len(entries) > SHOWN_ENTRIES else "")
