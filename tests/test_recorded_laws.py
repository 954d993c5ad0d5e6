"""The laws that ship follow from the rows that are stored: they are computed again, and single numbers by hand."""

import json
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from pictures import is_drawn

from modgrok.answers.classifying import classify
from modgrok.base.errors import InputError
from modgrok.censuses import store
from modgrok.censuses.fitting import calibrate
from modgrok.censuses.law_check import columns_of, ratios, settings_of
from modgrok.loss_law.calibration import calibration
from modgrok.loss_law.curve import BINS, cross_validated
from modgrok.loss_law.formula import DRIFT
from modgrok.loss_law.fraction_law import fraction_law
from modgrok.loss_law.from_table import MODEL_NAMES, table_law
from modgrok.reproduction.records import read_recorded
from modgrok.training.presets import DEFAULTS
from studies import fractions
from studies.phase_diagrams import phases_figure

LARGE = Path(__file__).parents[1] / "benchmarks" / "census" / "large"


@pytest.fixture(scope="module")
def rows():
    return columns_of(store.read_annotated(LARGE))


def test_the_docs_count_the_networks_and_tables(rows):
    text = (Path(__file__).parents[1] / "docs" / "census.md").read_text(encoding="utf-8")
    assert f"{len(rows['network']):,} of its" in text and f"{len(set(rows['table'].tolist())):,} tables" in text


def test_where_the_trainings_of_the_census_are_counted_it_is_said_which(rows):
    """All of them, or those at the default width: every paragraph that has the second number."""
    root, every, asked = LARGE.parents[2], len(rows["network"]), int((rows["width"] == DEFAULTS["width"]).sum())
    assert asked < every
    pages = [*root.glob("*.md"), *root.glob("docs/*.md"), root / "benchmarks" / "README.md"]
    parts = [part for page in pages for part in re.split(r"\n\n|\n[-*|] ", page.read_text(encoding="utf-8"))]
    told = [part for part in parts if f"{asked:,}" in part]
    assert len(told) >= 3 and all("default" in part for part in told)
    assert any(f"{every:,}" in part for part in told), "one place has both"


def test_the_docs_say_the_errors_of_the_law_of_tables():
    """Trainings and errors of each architecture, and those of the large census, as the fit measured them."""
    root = LARGE.parents[2]
    text = " ".join((root / "docs" / "loss-law.md").read_text(encoding="utf-8").split())
    stored = json.loads((root / "benchmarks" / "results" / "table-law.json").read_text(encoding="utf-8"))
    for model, law in table_law().models.items():
        assert stored["models"][model]["error"] == law.error, "the file that ships is of the same fit"
        numbers = (f"{law.error['kinds']:.3f}", f"{law.error['tables']:.3f}", f"{100 * law.coverage['kinds']:.0f} %")
        assert f"| {MODEL_NAMES[model]} | {law.networks:,} | {' | '.join(numbers)} |" in text
    assert f"misses by {stored['large_census_tables']:.3f} on tables" in text
    assert f"one seed lies {stored['large_census_seeds']:.3f} from the mean of the others" in text
    reason = classify("n1 n2", 31, probe=False, measure=False).expected.reason
    assert f"by {table_law().models['power'].networks:,} trainings of x² networks at the default settings" in reason


def test_the_calibration_follows_from_the_rows(rows):
    shipped = calibration()
    found = calibrate(rows, shipped.made_by)
    assert (found.covers, found.fixed, found.networks) == (shipped.covers, shipped.fixed, shipped.networks)
    assert len(shipped.curve.below) == len(BINS) - 1
    for name in ("x", "accuracy", "below", "above"):
        np.testing.assert_allclose(getattr(found.curve, name), getattr(shipped.curve, name), atol=1e-5)
    ours, theirs = ([s.random_odds for s in known.settings] for known in (found, shipped))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_docs_and_paper_say_the_errors_of_the_large_census(rows):
    """The error of one curve is computed again; the others are those of the census's stored report."""
    stored = json.loads((LARGE / "report" / "report.json").read_text(encoding="utf-8"))
    ratio = ratios(rows, [setting for setting in settings_of(rows) if setting.holds])
    known = np.isfinite(ratio)
    expected = cross_validated(ratio[known], rows["test_accuracy"][known], rows["table"][known])
    error = np.abs(expected - rows["test_accuracy"][known]).mean()
    assert known.sum() == stored["evaluated"] and error == pytest.approx(stored["error_one_curve"], abs=1e-4)
    held_out = {each["held_out"]: each["error"] for each in stored["errors_held_out"]}
    assert held_out["tables"] == stored["error_one_curve"]
    assert read_recorded("law").result.measured["by_loss"] == pytest.approx(held_out, rel=1e-3)
    text = " ".join((LARGE.parents[2] / "docs" / "loss-law.md").read_text(encoding="utf-8").split())
    settings = len(stored["errors_by_setting"])
    assert f"Over {stored['evaluated']:,} networks at {settings} settings" in text
    assert f"misses by {error:.3f} and a curve for each by {stored['error_own_curves']:.3f}" in text
    for name in ("families", "moduli", "widths"):
        assert f"| {name}, one at a time | {held_out[name]:.3f} |" in text


@pytest.fixture(scope="module")
def older():
    return columns_of(store.read_rows(LARGE.parent / "results"))


def test_the_drift_of_random_tables_follows_from_the_older_census(older):
    """By hand: the odds of random tables after 1000 and after 1500 steps, at every setting where the law holds."""
    exponents = []
    random = older["family"] == "random"
    for setting in settings_of(older):
        here = random & (older["width"] == setting.width) & (older["modulus"] == setting.modulus)
        here &= older["fraction"] == setting.fraction
        odds = []
        for steps in (1000, 1500):
            unexplained = setting.modulus * older["train_loss"][here & (older["steps"] == steps)]
            odds.append(np.mean(unexplained / (1 - unexplained)))
        if setting.holds:
            exponents.append(-np.log(odds[1] / odds[0]) / np.log(1.5))
    assert len(exponents) > 10 and np.mean(exponents) == pytest.approx(DRIFT, abs=0.001)


def test_the_interval_holds_nine_in_ten_networks_of_a_census_that_the_law_has_not_seen(older, rows):
    """After 1000 and after 1500 steps; the docs say the same numbers."""
    spec = spec_from_file_location("other_census", LARGE.parents[1] / "other_census.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # for its dataclass
    spec.loader.exec_module(module)
    judged = {found.steps: found for found in module.judge(older, rows)}
    text = " ".join((LARGE.parents[2] / "docs" / "loss-law.md").read_text(encoding="utf-8").split())
    assert f"Its {judged[1000].networks:,} networks on tables that the large census does not have" in text
    words = {1000: "with {:.0f} % of them in their intervals", 1500: "with {:.0f} %."}
    for steps, inside in words.items():
        assert abs(judged[steps].inside - 0.9) < 0.02
        assert f"by {judged[steps].error:.3f} after {steps} steps, {inside.format(100 * judged[steps].inside)}" in text


def test_the_fraction_law_follows_from_the_rows(rows):
    shipped = fraction_law()
    found = fractions.fraction_fit(fractions.class_rows(rows), shipped.made_by)
    assert set(found.kinds) == {"sum", "product", "relabelled sum", "relabelled product"} == set(shipped.kinds)
    for kind, law in found.kinds.items():
        np.testing.assert_allclose(law.weights, shipped.kinds[kind].weights, rtol=1e-3)
        assert law.networks == shipped.kinds[kind].networks
        assert law.misjudged == pytest.approx(shipped.kinds[kind].misjudged, abs=1e-3)


def test_the_law_of_sums_separates_what_grokked_from_what_did_not(rows):
    """By hand: trainings on a x + b y modulo primes, at the default width, on either side of c p^-b."""
    chosen = (rows["family"] == "{a}x + {b}y") & (rows["width"] == 500) & np.isin(rows["modulus"], (11, 17, 31, 61, 97))
    edge = fraction_law().kinds["sum"].boundary(rows["modulus"][chosen])
    grokked, beyond = rows["test_accuracy"][chosen] >= 0.99, rows["fraction"][chosen] > edge
    assert chosen.sum() > 700 and (grokked == beyond).mean() > 0.97


@pytest.mark.parametrize(
    "text, modulus, low, high",
    [("n1 n2", 11, 0.6, 0.8), ("n1 + n2", 97, 0.1, 0.2), ("n1 + n2", 31, 0.3, 0.4), ("n1^2 + n2^2", 97, 0.1, 0.3)],
)
def test_classify_says_how_much_is_enough(text, modulus, low, high):
    """Between the shares at which the census saw none and all of such trainings grok."""
    found = classify(text, modulus)
    assert low <= found.enough <= high
    assert f"It is expected to grok from about {100 * found.enough:.0f} % of the table." in found.answer[1]


@pytest.mark.parametrize("text, modulus", [("n1^2 + n1 n2 + n2^2", 31), ("n1 + n2", 5), ("n1 + n2", 211)])
def test_nothing_is_said_where_nothing_was_measured(text, modulus):
    found = classify(text, modulus)
    assert found.enough is None and "grok" not in found.answer[1]


def test_a_planted_edge_is_found():
    """Planted: sums modulo p grok from a share of 3 / sqrt(p) on, and from no less."""
    moduli, shares = np.repeat([11, 17, 23, 31, 43, 61, 97], 90), np.tile(np.linspace(0.2, 0.9, 90), 7)
    grokked = shares > 3 / np.sqrt(moduli) + np.random.default_rng(0).normal(0, 0.02, len(shares))
    census = {
        "modulus": moduli, "fraction": shares, "test_accuracy": np.where(grokked, 1.0, 0.5),
        "variety": np.ones(len(shares)), "redundancy": np.zeros(len(shares)), "kind": np.full(len(shares), "sum"),
    }  # fmt: skip
    fitted = fractions.fraction_fit(census, "")
    law = fitted.kinds["sum"]
    assert is_drawn(phases_figure(census, fitted))
    np.testing.assert_allclose(law.boundary(np.array([23, 53])), 3 / np.sqrt([23, 53]), atol=0.02)
    assert law.misjudged < 0.05 and law.edge_error < 0.02
    with pytest.raises(InputError, match="needs 30 trainings on functions in the class"):
        fractions.fraction_fit({name: column[:5] for name, column in census.items()}, "")
