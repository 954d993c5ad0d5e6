"""Shifts and scalings that permute the values of a table, and the frequencies that its one-hot tensor needs."""

from itertools import product

import numpy as np
import pytest

from modgrok.algebra.function import table
from modgrok.separable.measures.symmetries import (
    characters,
    equal_cells,
    in_logarithms,
    one_hot_energy,
    symmetries,
    translations,
)


def by_hand(values):
    """Every (s, t) for which equal values stay equal and different ones may become what they like, cell by cell."""
    rows, columns = values.shape
    found = np.zeros(values.shape, bool)
    for s, t in product(range(rows), range(columns)):
        images: dict[int, set[int]] = {}
        for a, b in product(range(rows), range(columns)):
            images.setdefault(int(values[a, b]), set()).add(int(values[(a + s) % rows, (b + t) % columns]))
        found[s, t] = all(len(image) == 1 for image in images.values())
    return found


@pytest.mark.parametrize(
    "text, modulus", [("n1 + n2", 5), ("(n1 + 2n2)^2", 7), ("n1^2 + n1 n2", 5), ("n1 n2", 6), ("3", 4)]
)
def test_translations_are_those_found_by_hand(text, modulus):
    values = np.broadcast_to(table(f"{text} + 0n1 + 0n2", modulus), (modulus, modulus)).copy()
    assert np.array_equal(translations(values), by_hand(values))


def test_translations_of_tables_of_any_shape():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.integers(0, 3, (rng.integers(2, 5), rng.integers(2, 5)))
        assert np.array_equal(translations(values), by_hand(values))


def test_a_sum_has_all_shifts_and_a_product_all_scalings():
    added, multiplied = (symmetries(table(text, 13), 13) for text in ("n1 + n2", "n1 n2"))
    assert (added.shifts, multiplied.shifts, multiplied.scalings) == (169, 1, 144) and added.cells == (169, 144)
    assert symmetries(table("n1 + n2", 12), 12).scalings is None
    assert added.characters == pytest.approx(12 / 169) and multiplied.characters == pytest.approx(11 / 144)


def test_two_monomials_scale_along_orbits():
    """x^a y^b + x^c y^d is multiplied by λ^(as + bt) where that is λ^(cs + dt): p - 1 scalings permute its values."""
    for text in ("8x^5 y + 34x^9 y^5", "46x y^5 + 33x^3 y^10", "95x^9 y^7 + 30x^11 y^5"):
        assert symmetries(table(text, 97), 97).scalings % 96 == 0
    learned, too = (symmetries(table(text, 97), 97) for text in ("8x^5 y + 34x^9 y^5", "95x^9 y^7 + 30x^11 y^5"))
    never = symmetries(table("46x y^5 + 33x^3 y^10", 97), 97)
    assert learned.characters < 0.06 and too.characters < 0.06 and never.characters > 0.9


@pytest.mark.parametrize("zeros", [0, 3, 30])
def test_energy_is_that_of_every_slice(zeros):
    values = np.random.default_rng(1).integers(0, 4, (6, 5))
    values.ravel()[:zeros] = 0  # many cells of one value are counted in another way
    slices = [np.abs(np.fft.fft2((values == q).astype(float))) ** 2 for q in range(4)]
    np.testing.assert_allclose(one_hot_energy(values), sum(slices), atol=1e-9)
    equal = [[sum(values[(a + s) % 6, (b + t) % 5] == values[a, b] for a in range(6) for b in range(5))
              for t in range(5)] for s in range(6)]  # fmt: skip
    assert equal_cells(values).tolist() == equal


def test_tables_of_noise_need_most_frequencies_and_constant_ones_none():
    assert characters(np.zeros((4, 4), int)) == 0.0
    assert 0.5 < characters(np.random.default_rng(0).integers(0, 31, (31, 31))) <= 1


def test_logarithms_are_for_odd_primes_alone():
    assert in_logarithms(table("n1 n2", 7), 7).shape == (6, 6)
    assert in_logarithms(table("n1 n2", 8), 8) is None and in_logarithms(np.zeros((3, 4), int), None) is None
