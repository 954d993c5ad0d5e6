"""Every item in three short texts: what was published, what was measured, and why the verdict is what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Result = dict[str, Any]


class Summary(NamedTuple):
    published: str
    measured: str
    why: str


def summarise(result: Result) -> Summary:
    return SUMMARIES[result["item"]](result)


def span(values: list[float], form: str = ".4g", unit: str = "") -> str:
    """The smallest and the largest of some numbers, or the one that all of them are."""
    ends = list(dict.fromkeys(f"{value:{form}}" for value in (min(values), max(values))))
    return "–".join(ends) + unit


def table1(result: Result) -> Summary:
    errors = {
        key: "; ".join(
            f"{span([row[key] for row in result['rows'] if row['modulus'] == p], '.4f')} mod {p}"
            for p in dict.fromkeys(row["modulus"] for row in result["rows"])
        )
        for key in ("published_mse", "mse_table", "mse_printed")
    }
    accuracy = min(row["accuracy_table"] for row in result["rows"])
    return Summary(
        f"error {errors['published_mse']}; accuracy 100 %",
        f"error {errors['mse_table']}; accuracy {100 * accuracy:g} %",
        f"errors within {100 * result['measured']['largest_deviation']:.0f} % with A = N^(−1/(S+1)); the printed "
        "amplitude gives "
        f"{errors['mse_printed']}",
    )


def table2(result: Result) -> Summary:
    trained = [row for row in result["rows"] if row["test_accuracy"] is not None]
    inside = [row for row in trained if row["verdict"] == "in-class"]
    outside = [row for row in trained if row["verdict"] != "in-class"]

    def accuracies(key: str) -> str:
        parts = [span([100 * row[key] for row in rows], ".1f", " %") for rows in (inside, outside)]
        return f"test accuracy {parts[0]} on h(g1 + g2), {parts[1]} on the others"

    losses = result["measured"]["every_loss_within_a_factor_of_2"]
    compared = {True: "losses within a factor of 2", False: "a loss is off by more than 2", None: "losses not compared"}
    moduli = " and ".join(dict.fromkeys(str(row["modulus"]) for row in trained))
    return Summary(
        accuracies("published_test_accuracy"),
        accuracies("test_accuracy"),
        f"{len(trained)} rows (modulo {moduli}); {compared[losses]}; accuracies within "
        f"{100 * result['measured']['largest_prediction_error']:.1f} points of those predicted before training",
    )


def figure1(result: Result) -> Summary:
    widths = ", ".join(str(row["smallest_width_for_100_percent"]) for row in result["rows"])
    terms = [row["terms"] for row in result["rows"]]
    return Summary(
        "the width for 100 % grows exponentially with the number of terms S",
        f"widths {widths} at S = {terms[0]} … {terms[-1]}: a factor of {result['measured']['growth_per_term']:.1f} "
        "per term",
        "each further term multiplies the width",
    )


def training(result: Result) -> Summary:
    measured = result["measured"]
    failed = [claim for claim, holds in measured["claims"].items() if not holds]
    first, last = (result["curves"]["ipr_alive"][k] for k in (0, -1))
    why = "all claims of the caption hold" if not failed else f"not so here: {'; '.join(failed)}"
    if "the mean IPR rises monotonically" in failed:
        why += f" (it falls by {measured['fall_of_ipr']:.3f} at most)"
    return Summary(
        "grokking to 100 %, and a mean IPR that rises monotonically towards the analytical solution's 1",
        f"test accuracy {100 * measured['test_accuracy']:g} %, 99 % of training rows from step "
        f"{measured['memorised_at']} and "
        f"of test rows from step {measured['grokked_at']}; IPR {first:.2f} → {last:.2f} (living neurons)",
        why,
    )


def widths(result: Result) -> Summary:
    def numbers(key: str) -> str:
        return ", ".join(str(row[key]) for row in result["rows"])

    terms = [row["terms"] for row in result["rows"]]
    return Summary(
        f"random phases {numbers('random')} (measured); literature {numbers('literature')} neurons at S = "
        f"{terms[0]} … {terms[-1]}",
        f"{numbers('flat')} in one expert, {numbers('tree')} as a tree, {numbers('minimal')} at least",
        "exact one-hot outputs; every network checked",
    )


def networks(result: Result) -> Summary:
    neurons = list(result["measured"]["neurons"].values())
    return Summary(
        f"{result['published']['neurons']:,} neurons, error {result['published']['mse']}",
        f"{neurons[1]} neurons with error below {result['measured']['largest_error'] * 1.1:.0e}, or {neurons[2]} "
        "neurons that "
        "are always right",
        "phases by design instead of by chance; rounding errors are bounded by a proof",
    )


def classes(result: Result) -> Summary:
    measured = result["measured"]
    return Summary(
        "three polynomials of Table 2 have the form h(g1 + g2), their perturbations have not",
        f"{measured['in_class']} in the class, {measured['not_in_class']} not, {measured['unknown']} undecided",
        "a checked witness or a checked proof for each",
    )


def mixture(result: Result) -> Summary:
    measured = result["measured"]
    return Summary(
        "experts trained apart may be joined for polynomials that no training learns (left to future work)",
        f"accuracy {100 * measured['accuracy']:g} % on all {measured['rows']:,} rows",
        "experts learned n1 + n2 and n1 n2, never the polynomial",
    )


def errata(result: Result) -> Summary:
    return Summary(
        f"{len(result['rows'])} statements", f"{len(result['rows'])} corrections, each with a number", "see Errata"
    )


def endtoend(result: Result) -> Summary:
    learnt = result["measured"]["learnt"]

    def share(start: str) -> str:
        return f"{len(learnt[start])} of {sum(row[start] is not None for row in result['rows'])}"

    return Summary(
        "two-layer networks and other architectures do not learn these polynomials",
        f"learned from scratch: {share('scratch')}; by one two-layer network: {share('single')}; by going on from "
        f"joined experts: {share('experts')}",
        result["notes"][-1],
    )


def strong(result: Result) -> Summary:
    measured = result["measured"]
    learned = measured["cells_in_class"] - measured["contradictions"]
    return Summary(
        "every standard network reaches 100 % on h(g1 + g2)",
        f"learned {learned} of {measured['cells_in_class']} times, in {measured['settings_that_learn_the_controls']} "
        "settings that learn n1 + n2 and n1 n2",
        f"{measured['networks']:,} networks; {measured['contradictions']} times a polynomial of the form is not "
        "learned where both controls are",
    )


SUMMARIES: dict[str, Callable[[Result], Summary]] = {
    "table1": table1,
    "table2": table2,
    "figure1": figure1,
    "figure2": training,
    "figure3": training,
    "widths": widths,
    "networks": networks,
    "classes": classes,
    "mixture": mixture,
    "errata": errata,
    "endtoend": endtoend,
    "strong": strong,
}
