"""Measures of a table: lookups against simulation, norms against dense linear algebra."""

import numpy as np
import pytest

from modgrok.censuses.families import expression_values, make_table
from modgrok.separable import redundancy
from modgrok.separable.measures.complexity import (
    answered_by_rows,
    coincidences,
    effective_rank,
    first_appearance,
    orbit_redundancy,
    permuted_redundancy,
    unfolding_norm,
)


def dense_coincidences(table):
    p = len(table)
    return (table[:, None, :, None] == table[None, :, None, :]).reshape(p * p, p * p).astype(float)


@pytest.mark.parametrize("family", ["two-monomials", "random", "composed-sum"])
def test_coincidences_are_the_matrix_that_they_stand_for(family):
    table = make_table(family, 7, 2).values
    z = np.random.default_rng(0).standard_normal((7, 7))
    expected = np.array([[sum(z[b, d] for b in range(7) for d in range(7) if table[a, b] == table[c, d])
                          for c in range(7)] for a in range(7)])  # fmt: skip
    image = coincidences(table)(np.stack([z, 2 * z], axis=2))
    np.testing.assert_allclose(image, np.stack([expected, 2 * expected], axis=2))
    np.testing.assert_allclose(dense_coincidences(table) @ z.ravel(), expected.ravel())


@pytest.mark.parametrize("family, seed", [("two-monomials", 1), ("random", 0), ("noisy-sum", 3)])
def test_the_effective_rank_is_that_of_the_singular_values(family, seed):
    table = make_table(family, 19, seed).values
    flat = np.eye(361) - 1 / 361
    sigma = np.linalg.svd(flat @ dense_coincidences(table) @ flat, compute_uv=False)
    exact = np.sum(sigma**2) ** 2 / np.sum(sigma**4) / 361
    assert effective_rank(table) == pytest.approx(exact, rel=0.3)


def test_sums_spread_over_p_directions_and_noise_over_all():
    assert effective_rank(expression_values("x + y", 31)) == pytest.approx(30 / 31**2, rel=0.2)
    assert effective_rank(expression_values("x y", 31)) < 0.06
    assert effective_rank(make_table("random", 31, 0).values) > 0.3
    assert effective_rank(np.zeros((5, 5), int)) == 0.0


def test_unfoldings_hardly_tell_sums_from_noise():
    tensor = np.eye(11)[make_table("random", 11, 0).values]
    unfoldings = [np.moveaxis(tensor, axis, 0).reshape(11, -1) for axis in range(3)]
    nuclear = max(np.linalg.norm(matrix, "nuc") for matrix in unfoldings)
    noise = unfolding_norm(make_table("random", 11, 0).values)
    assert noise == pytest.approx(nuclear / 11**1.5)
    assert unfolding_norm(expression_values("x + y", 11)) == pytest.approx(1.0)
    assert noise > 0.95


def test_rows_that_differ_by_a_permutation_look_alike():
    row = np.array([3, 1, 3, 0, 1])
    assert first_appearance(row).tolist() == [0, 1, 0, 2, 1]
    assert first_appearance(np.array([4, 2, 0, 3, 1])[row]).tolist() == first_appearance(row).tolist()


def simulated_permuted_lookup(table, fraction, splits=200):
    """A learner who knows that all rows differ by permutations, literally: look for a', b' as the docstring says."""
    rng, hits, tests, p = np.random.default_rng(0), 0, 0, len(table)
    for _ in range(splits):
        trained = rng.random(table.shape) < fraction
        for a, b in zip(*np.nonzero(~trained), strict=True):
            same = [d for d in range(p) if d != b and table[a, d] == table[a, b] and trained[a, d]]
            hits += any(trained[c, b] and trained[c, d] for c in range(p) if c != a for d in same)
            tests += 1
    return hits / tests


def test_the_permuted_lookup_is_what_a_simulation_finds():
    rng = np.random.default_rng(3)
    row = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3])
    table = np.stack([rng.permutation(9)[row] for _ in range(9)])
    assert len({tuple(first_appearance(line)) for line in table}) == 1
    answered = answered_by_rows(table, 0.4)
    assert answered.mean() == pytest.approx(simulated_permuted_lookup(table, 0.4), abs=0.02)


def test_the_permuted_lookup_adds_to_redundancy_where_rows_differ_by_permutations():
    x3y5 = expression_values("63x^3 y^5 + 80x^11 y^8", 97)
    assert redundancy(x3y5, 0.5) == 0 and 0.05 < permuted_redundancy(x3y5, 0.5) < 0.6
    noise = make_table("random", 11, 0).values
    assert permuted_redundancy(noise, 0.5) == redundancy(noise, 0.5) == 0


def test_orbits_join_what_symmetries_carry_to_each_other():
    with_symmetry, without = (expression_values("x^2 y + y^2", p) for p in (13, 11))
    i = 5  # 5² = -1 modulo 13
    x, y = np.indices((13, 13))
    assert np.array_equal(with_symmetry[i * x % 13, -y % 13], with_symmetry)
    assert orbit_redundancy(with_symmetry, 0.5) > redundancy(with_symmetry, 0.5) + 0.2
    assert orbit_redundancy(without, 0.5) == redundancy(without, 0.5)
    assert orbit_redundancy(expression_values("x + y", 11), 0.5) > 0.99
    assert orbit_redundancy(make_table("random", 11, 0).values, 0.5) < 0.02
