"""The complexity of a table: closed forms of groups, bounds on both sides, other sides, unknown cells, edges."""

import json
import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import modgrok as mg
from modgrok.algebra.representations import real_irreducibles
from modgrok.answers.complexity import estimated_random, random_ratio
from modgrok.base.errors import InputError
from modgrok.separable.measures import nuclear_bounds
from modgrok.separable.measures.completion import completed, completion, guesses
from modgrok.separable.measures.nuclear import OneHot, estimate
from modgrok.separable.measures.nuclear_bounds import (
    dense,
    largest_eigenvalue,
    lower_bound,
    spectral_bound,
    upper_bound,
)

ROOT = 2**0.5
ROOT_FOLDER = Path(__file__).parents[1]
NORMS = ("complexity", "shrunk")


def sums(n):
    return np.add.outer(np.arange(n), np.arange(n)) % n


@pytest.mark.parametrize(
    "name, degrees",
    [
        ("Z7", [1] + [ROOT] * 6),
        ("Z2^3", [1] * 8),
        ("D4", [1, 1, 1, 1, 2**2.5]),
        ("Q8", [1, 1, 1, 1, ROOT * 2**2.5]),
        ("A4", [1, ROOT, ROOT, 3**2.5]),
    ],
)
def test_groups_have_their_closed_form_and_the_estimate_agrees(name, degrees):
    table = mg.group(name).table
    n, expected = len(table), sum(degrees) / len(table)
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(n)[table[np.ix_(rng.permutation(n), rng.permutation(n))]]
    found = mg.complexity(shuffled)
    assert found.exact and found.value == pytest.approx(expected, rel=1e-9)
    tensor = OneHot(shuffled, n)
    assert estimate(tensor).value / tensor.scale == pytest.approx(expected, rel=0.01)


def test_bounds_hold_on_both_sides_and_are_close_for_groups():
    for table in (sums(9), mg.group("Q8").table, np.maximum.outer(np.arange(8), np.arange(8))):
        tensor = OneHot(table, len(table))
        found = estimate(tensor)
        low, high = lower_bound(tensor, found), upper_bound(tensor, found)
        assert low <= found.value * (1 + 1e-6) and found.value <= high * (1 + 1e-3) and low <= high * (1 + 1e-9)
        assert high < 1.4 * low


def test_a_spectral_bound_is_above_what_any_vectors_reach():
    rng = np.random.default_rng(0)
    y = rng.standard_normal((6, 5, 7))
    bound = spectral_bound(y)
    for _ in range(50):
        u, v, w = (rng.standard_normal(side) for side in y.shape)
        for _ in range(20):
            w = np.einsum("abq,a,b->q", y, u, v)
            u = np.einsum("abq,b,q->a", y, v, w / np.linalg.norm(w))
            v = np.einsum("abq,a,q->b", y, u / np.linalg.norm(u), w / np.linalg.norm(w))
            u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
        assert np.linalg.norm(np.einsum("abq,a,b->q", y, u, v)) <= bound


def test_a_spectral_bound_is_the_best_of_the_mixtures_written_out():
    """M and M', with a and a' exchanged, as matrices over pairs; fewer pairs than steps, so that Lanczos is exact."""
    y = np.random.default_rng(2).standard_normal((6, 5, 7))
    pairs = np.einsum("abq,cdq->abcd", y, y)
    plain, exchanged = (m.reshape(30, 30) for m in (pairs, pairs.transpose(2, 1, 0, 3)))
    largest = [np.linalg.eigvalsh(share * plain + (1 - share) * exchanged)[-1] for share in (0, 0.25, 0.5)]
    unfolded = [np.linalg.norm(np.moveaxis(y, k, 0).reshape(y.shape[k], -1), 2) for k in range(3)]
    assert spectral_bound(y) == pytest.approx(min(*unfolded, *np.sqrt(largest)))
    assert spectral_bound(y) < 0.99 * min(unfolded)


def test_bounds_are_computed_in_one_thread(monkeypatch):
    """Two threads of a busy machine wait for each other, minutes at a hundred rows."""
    entered = []
    monkeypatch.setattr(nuclear_bounds, "in_one_thread", lambda: nullcontext(entered.append(1)))
    tensor = OneHot(sums(7), 7)
    found = estimate(tensor)
    lower_bound(tensor, found)
    upper_bound(tensor, found)
    assert len(entered) == 2


def test_a_largest_eigenvalue_is_not_above_its_bound():
    rng = np.random.default_rng(1)
    for size in (12, 100):
        matrix = rng.standard_normal((size, size))
        matrix = matrix + matrix.T
        bound = largest_eigenvalue(lambda z, m=matrix, s=size: (m @ z.ravel()).reshape(s, 1), (size, 1))
        largest = np.linalg.eigvalsh(matrix)[-1]
        assert largest <= bound * (1 + 1e-12) and bound < 2 * largest


def test_repeated_rows_change_nothing():
    once, thrice = (OneHot(table, 7) for table in (sums(7), np.repeat(sums(7), 3, axis=0)))
    assert estimate(thrice).value / thrice.scale == pytest.approx(estimate(once).value / once.scale, rel=0.01)


def test_a_constant_is_one_atom_and_small_tables_are_measured():
    assert mg.complexity(np.zeros((7, 7), int), mod=7).value == pytest.approx(7**-0.5, rel=1e-4)
    assert mg.complexity([[0, 1], [1, 0]]).value == pytest.approx(1, rel=1e-4)
    assert mg.complexity([[0, 1, 2], [1, 2, 3]], bounds=True).upper < 1.5


def test_unknown_cells_never_cost_more():
    table, rng = sums(11), np.random.default_rng(0)
    hidden = rng.random(table.shape) < 0.4
    found = mg.complexity(lambda a, b: None if hidden[a, b] else int(table[a, b]), mod=11, bounds=True)
    whole = (1 + 10 * ROOT) / 11
    assert not found.exact and found.lower <= found.value <= whole * 1.01 and found.upper >= found.lower


@pytest.mark.parametrize("whole", [np.full((11, 11), 4), np.indices((11, 11)).max(axis=0), sums(11)])
def test_a_lower_bound_with_unknown_cells_is_one_of_every_way_to_fill_them_in(whole):
    """The unfoldings of a table with holes have larger norms than those of the whole: once 0.51 for 0.21."""
    n, rng = len(whole), np.random.default_rng(1)
    hidden, noise = rng.random((n, n)) < 0.4, rng.integers(0, n, (n, n))
    found = mg.complexity(lambda a, b: None if hidden[a, b] else int(whole[a, b]), mod=n, bounds=True)
    assert 0 < found.lower <= found.value <= found.upper
    for filled in (whole, np.where(hidden, noise, whole)):
        assert found.lower <= mg.complexity(filled, mod=n, bounds=True).upper


def test_a_random_table_with_unknown_cells_is_held_against_one_with_the_same_cells_unknown():
    """Once it was held against a whole one, and 'nearer to a sum'."""
    rng = np.random.default_rng(3)
    hidden, noise = rng.random((23, 23)) < 0.4, rng.integers(0, 23, (23, 23))
    found = mg.complexity(lambda a, b: None if hidden[a, b] else int(noise[a, b]), mod=23)
    assert found.words.endswith(": nearly a random table") and found.random < 0.85 * random_ratio(23, 23, 23)
    assert mg.complexity(lambda a, b: None if hidden[a, b] else (a + b) % 23, mod=23).words.endswith(
        "as simple as a sum"
    )


def test_classify_tells_the_complexity_of_a_long_table_of_few_cells():
    a, b = np.indices((100, 12))
    told = mg.classify((3 * a + b) % 12, probe=False).complexity
    assert told.value == mg.complexity((3 * a + b) % 12).value and told.words.endswith("as simple as a sum")
    assert mg.classify(np.indices((100, 100)).sum(axis=0) // 90, probe=False).complexity is None


def test_a_dense_tensor_has_a_one_for_each_known_cell():
    table = np.array([[0, 2], [-1, 1]])
    whole = dense(OneHot(table, 3))
    assert whole.sum() == 3 and whole[0, 1, 2] == whole[1, 1, 1] == 1 and not whole[1, 0].any()


def test_words_and_errors():
    assert mg.complexity("n1 + n2", mod=11).words == "1.38: as simple as a sum"
    random = mg.complexity(np.random.default_rng(5).integers(0, 11, (11, 11)))
    assert "nearly a random table" in random.words and repr(random).startswith("<Complexity: table")
    assert random.to_json()["exact"] is False
    with pytest.raises(InputError, match=r"two variables with at most 128 values each, got n1 n2 n3 \(5 × 5 × 5"):
        mg.complexity("n1 n2 n3", mod=5)
    with pytest.raises(InputError, match=r"got table \w+ \(200 × 2 → 201\); give a smaller modulus or table"):
        mg.complexity(np.add.outer(np.arange(200), np.arange(2)))
    with pytest.raises(InputError, match="at least 2 values of each variable"):
        mg.complexity([[0, 1, 2]])


def test_a_sum_completes_itself_and_noise_does_not():
    """Against the table itself: from how many cells the others follow, for a sum, a largest element and noise."""
    n = 17
    a, b = np.indices((n, n))
    noise = np.random.default_rng(0).integers(0, n, (n, n))
    assert completion((a + 3 * b) % n, n, 0.6) == 1.0
    assert completion(noise, n, 0.9) < 0.25
    assert completion(np.maximum(a, b), n, 0.2) < completion(np.maximum(a, b), n, 0.8)
    assert completion(noise, n, 1.0) is None


def test_cells_that_are_unknown_are_neither_seen_nor_judged():
    """A table whose unknown cells hide noise completes itself as one that has only the others would."""
    n = 13
    a, b = np.indices((n, n))
    hidden = np.random.default_rng(1).random((n, n)) < 0.3
    assert completion(np.where(hidden, -1, (a + b) % n), n, 0.85) == 1.0
    rectangle = (a[:, :7] + b[:, :7]) % n
    assert completion(rectangle, n, 0.8) > 0.95
    assert completion(rectangle, n, 0.8) == completion(rectangle, n, 0.8, seed=0)


def test_guesses_are_the_largest_entries():
    table = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    found = completed(table, 3)
    cells = tuple(np.indices((3, 3)).reshape(2, -1))
    dense = np.einsum("ak,bk,qk,k->abq", *found.directions, found.weights)
    assert np.array_equal(guesses(found, cells).reshape(3, 3), dense.argmax(axis=2))
    assert np.array_equal(dense.argmax(axis=2), table)


@pytest.mark.parametrize("name", ["S3", "Q8", "Z5", "A4", "SL(2,3)"])
def test_each_step_of_the_proof_holds_in_numbers(name):
    """Blocks are orthogonal in each place and sum to T, each as long and as high as N products of size s."""
    table = np.asarray(mg.group(name).table)
    n = len(table)
    whole, rest, norm = dense(OneHot(table, n)), dense(OneHot(table, n)), 0.0
    for rho in real_irreducibles(table):
        basis, sizes, _ = np.linalg.svd(rho.matrices.reshape(n, -1), full_matrices=False)
        onto = basis[:, sizes > 1e-9] @ basis[:, sizes > 1e-9].T
        block = np.einsum("abc,ax,by,cz->xyz", whole, onto, onto, onto, optimize=True)
        np.testing.assert_allclose(np.einsum("abc,ax->xbc", whole, onto), block, atol=1e-9)
        d = rho.degree
        count, size = {"real": (d**3, 1), "complex": (4 * d**3, 0.5), "quaternionic": (2 * d**3, 0.5)}[rho.kind]
        size = np.sqrt(size * n / d)
        assert (block**2).sum() == pytest.approx(count * size**2)
        assert highest(block) == pytest.approx(size)
        rest, norm = rest - block, norm + count * size
    np.testing.assert_allclose(rest, 0, atol=1e-9)
    assert norm / n**1.5 == pytest.approx(mg.complexity(table).value)


def highest(block):
    """The largest value at unit vectors that power iterations from many starts find."""
    rng, found = np.random.default_rng(0), 0.0
    for _ in range(20):
        u, v = (rng.standard_normal(len(block)) for _ in range(2))
        for _ in range(60):
            w = np.einsum("abc,a,b->c", block, u, v)
            u = np.einsum("abc,b,c->a", block, v / np.linalg.norm(v), w / np.linalg.norm(w))
            v = np.einsum("abc,a,c->b", block, u / np.linalg.norm(u), w / np.linalg.norm(w))
            u, length = u / np.linalg.norm(u), np.linalg.norm(v)
            v = v / length
        found = max(found, length)
    return found


def test_what_is_above_a_later_level_is_lowered_to_it():
    """A group of which many equally strong atoms are missed at the levels where they first stand out."""
    table = mg.group("<(1 2 3 4 5), (2 3 5 4)>xZ3").table
    tensor, exact = OneHot(table, 60), mg.complexity(table).value
    found = estimate(tensor)
    duals = [level.dual / level.level / tensor.scale for level in found.history]
    assert max(duals) > 1.05 * exact
    assert found.value / tensor.scale == pytest.approx(exact, rel=0.04)


def test_random_tables_of_square_sides_are_stored():
    for n in (2, 7, 20):
        assert random_ratio(n, n, n) == pytest.approx(estimated_random(n, n, n), rel=0.01)
    assert all(random_ratio(n, n, n) >= 1 for n in range(2, 129))
    assert mg.complexity([[0, 1], [1, 0]]).words == "1.00: as simple as a sum, but so is a random table of its size"


def stored(name):
    return json.loads((ROOT_FOLDER / "benchmarks" / "results" / name).read_text(encoding="utf-8"))


def page():
    return " ".join((ROOT_FOLDER / "docs" / "complexity.md").read_text(encoding="utf-8").split())


def test_the_page_says_what_was_measured_of_groups_and_tables():
    found, text = stored("complexity.json"), page()
    for name, row in found["tables"].items():
        told = [f"{row[part]:.3f}" for part in ("lower", "lower_estimate", "estimate", "upper", "shrunk")]
        assert f"| {name.replace('|', chr(92) + '|')} | {' | '.join(told)} |" in text
    for row in (*found["groups"].values(), *found["others"].values()):
        assert row["lower"] <= row["closed_form"] * (1 + 1e-9) and row["closed_form"] <= row["upper"] * (1 + 1e-9)
    off = sorted(100 * abs(row["estimate"] / row["closed_form"] - 1) for row in found["groups"].values())
    assert len(off) == 60 and off[-1] < 2
    assert f"the estimate is off by {np.median(off):.3f} % in the median and {off[-1]:.2f} % at worst" in text
    high, low = (
        np.array([row[end] / row["closed_form"] for row in found["groups"].values()]) for end in ("upper", "lower")
    )
    assert f"lies {100 * np.median(high) - 100:.2f} % above the closed form in the median, " in text
    assert f"{100 * high.max() - 100:.1f} % at most" in text
    assert (
        f"at {100 * np.median(low):.0f} % of it in the median, {100 * low.min():.0f} to {100 * low.max():.1f} %" in text
    )
    off = sorted(100 * abs(row["estimate"] / row["closed_form"] - 1) for row in found["others"].values())
    assert f"**{len(off)} more** groups" in text
    assert f"{sum(each < 1 for each in off)} of them are off by less than 1 %" in text
    assert f"{off[-2]:.1f} % and {off[-1]:.1f} %" in text


def test_the_page_compares_r_with_ranks_sample_bounds_and_the_hypotheses():
    found, text = stored("share-needed.json"), page()
    for fit in found["group_fits"].values():
        assert f"| {fit['r2']:.3f} | {100 * fit['mean_error']:.1f} % |" in text
    law = found["group_law"]
    assert f"1.32 r^1.16 n^{2 - law['b']:.2f}, nearly {law['c'] * ROOT ** law['a']:.2f} n^{2 - law['b']:.2f}" in text
    half = law["c"] * ((1 + 112 * ROOT) / 113) ** law["a"] * 113 ** (2 - law["b"])
    assert f"At 113 these are {2.84 * 113**1.365:,.0f} and {half:,.0f} of {113**2:,} cells" in text
    drawn = ("relabelled-sum", "composed-sum", "composed-product")
    own = [each["complexity"] for each in found["points"]["x² network"] if each["kind"] in drawn]
    assert f"of the {len(own)} tables of x² networks above that are" in text and f"{max(own):.2f}" == "1.41"
    drawn = (*drawn, "function-of-powers", "group", "shuffled-group")
    for points in found["points"].values():
        simple = [each for each in points if each["kind"] not in drawn and each["complexity"] <= ROOT]
        most = max(each["needed"] for each in simple)
        assert re.search(rf"{100 * most:.0f} %[^;.]*\({len(simple)} of {len(simple)}\)", text)
    others = [each for each in found["points"]["x² network"] if each["kind"] not in ("group", "shuffled-group")]
    for low, high, said in ((0.0501, 0.1, 0.63), (0.1, 0.3, 0.89), (0.3, 0.5, 1.15), (0.5, 1, 1.53)):
        told = [each["needed"] / each["law"] for each in others if each["needed"] and low < each["needed"] <= high]
        assert np.median(told) == pytest.approx(said, abs=0.01)


def test_the_page_says_what_was_measured_of_the_shares_that_networks_need():
    """Every number of the table of correlations, and the law of groups, from the stored file."""
    found, text = stored("share-needed.json"), page()
    for model, about in found["models"].items():
        told = [f"{each['spearman']:.3f} ({each['low']:.3f} to {each['high']:.3f})" for each in map(about.get, NORMS)]
        assert f"| {model} | {about['tables']:,} | {about['never']} | {' | '.join(told)} |" in text
    law = found["group_law"]
    assert f"**{law['c']:.2f} r^{law['a']:.2f} n^−{law['b']:.2f}**" in text
    groups = [each for each in found["points"]["x² network"] if each["kind"] in ("group", "shuffled-group")]
    ratios = np.log([each["needed"] / each["law"] for each in groups if each["needed"] is not None])
    shares = np.log([each["needed"] for each in groups if each["needed"] is not None])
    assert f"For {len(ratios)} tables of groups" in text
    assert f"(R² {1 - ratios.var() / shares.var():.2f}, off by {100 * np.abs(np.expm1(ratios)).mean():.0f} %" in text
