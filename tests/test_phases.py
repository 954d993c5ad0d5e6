import itertools
from math import pi

import numpy as np
import pytest

from modgrok.base.errors import InputError
from modgrok.compiler.phases import (
    best_design,
    compact_design,
    count_design,
    exact_design,
    narrow_design,
    real_design,
)

EXACT = [exact_design(terms) for terms in range(1, 7)] + [narrow_design()] + [best_design(s) for s in (1, 2, 3, 4)]


def name_of(design):
    return f"{design.name}-{design.terms}"


def residue_rows(p, terms, limit=400):
    """All inputs, or `limit` of them at random."""
    if p**terms <= limit:
        return np.array(list(itertools.product(range(p), repeat=terms)))
    return np.random.default_rng(p).integers(0, p, size=(limit, terms))


def design_logits(design, angles, class_angles):
    """The network of one frequency, with the shared constant neuron, on rows of angles."""
    hidden = design.embed(np.ascontiguousarray(angles.T)[:, :, None]).sum(axis=0)
    return hidden**design.terms @ design.readout(class_angles) - design.constant * np.cos(class_angles)


@pytest.mark.parametrize("design", EXACT, ids=name_of)
@pytest.mark.parametrize("p", [2, 3, 5, 23, 97])
def test_exact_designs_give_the_cosine_of_the_sum(design, p):
    rows = residue_rows(p, design.terms)
    for frequency in {1, 2 % p, p // 2}:
        logits = design_logits(design, 2 * pi * frequency * rows / p, 2 * pi * frequency * np.arange(p) / p)
        remainder = (rows.sum(axis=1)[:, None] - np.arange(p)) * frequency % p
        np.testing.assert_allclose(logits, np.cos(2 * pi * remainder / p), rtol=0, atol=1e-12)


@pytest.mark.parametrize("design", EXACT, ids=name_of)
def test_exactness_is_an_identity_in_the_angles(design):
    rng = np.random.default_rng(0)
    angles, class_angles = rng.uniform(0, 2 * pi, (300, design.terms)), rng.uniform(0, 2 * pi, 17)
    wanted = np.cos(angles.sum(axis=1)[:, None] - class_angles)
    np.testing.assert_allclose(design_logits(design, angles, class_angles), wanted, rtol=0, atol=1e-12)


def test_widths_are_the_published_ones():
    assert [exact_design(terms).width for terms in range(1, 7)] == [2, 6, 16, 40, 96, 224]
    assert narrow_design().width == 4
    assert narrow_design().constant == pytest.approx(2**0.5)
    assert [real_design(terms).width for terms in range(1, 7)] == [1, 1, 2, 3, 4, 5]
    assert [compact_design(terms).width for terms in (3, 4)] == [15, 35]
    assert [best_design(terms).width for terms in range(1, 6)] == [2, 4, 15, 35, 96]
    assert [best_design(terms).constant for terms in (1, 3, 4, 5)] == [0, 0, -2.5, 0]


@pytest.mark.parametrize("terms", range(1, 9))
def test_real_design_multiplies_signs(terms):
    signs = np.array(list(itertools.product([1, -1], repeat=terms)))
    logits = design_logits(real_design(terms), np.where(signs > 0, 0, pi), np.array([0, pi]))
    wanted = signs.prod(axis=1)[:, None] * np.array([1, -1])
    np.testing.assert_allclose(logits, wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize("terms", range(1, 9))
def test_count_design_is_the_conjunction_of_bits(terms):
    design = count_design((0.0,) * terms + (1.0,))
    assert design.width == max(1, terms - 1)
    bits = np.array(list(itertools.product([0, 1], repeat=terms)))
    logits = design_logits(design, pi * (1 - bits), np.zeros(1))
    np.testing.assert_allclose(logits[:, 0], bits.all(axis=1), rtol=0, atol=1e-12)


def test_gain_of_the_exact_design_in_closed_form():
    for terms in range(1, 7):
        assert exact_design(terms).gain == pytest.approx((2 * terms) ** terms / np.prod(range(1, terms + 1)))
    assert real_design(2).gain == 3
    assert narrow_design().gain == pytest.approx(8 + 2**0.5)


@pytest.mark.parametrize("design", EXACT, ids=name_of)
def test_gain_bounds_the_rounding_error_in_float32(design):
    rng = np.random.default_rng(2)
    angles, class_angles = rng.uniform(0, 2 * pi, (500, design.terms)), rng.uniform(0, 2 * pi, 11)
    embed = design.embed(np.ascontiguousarray(angles.T)[:, :, None]).astype(np.float32)
    logits = embed.sum(axis=0) ** design.terms @ design.readout(class_angles).astype(np.float32)
    logits -= (design.constant * np.cos(class_angles)).astype(np.float32)
    error = np.abs(logits - np.cos(angles.sum(axis=1)[:, None] - class_angles)).max()
    assert error < design.gain * (design.terms + design.width) * np.finfo(np.float32).eps


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="1 to 12 terms, got 0"):
        exact_design(0)
    with pytest.raises(InputError, match="1 to 12 terms, got 13"):
        best_design(13)
    with pytest.raises(InputError, match="known for 3 and 4 terms, got 5"):
        compact_design(5)
    with pytest.raises(InputError, match="must need the full power 2"):
        count_design((0.0, 1.0, 2.0))
