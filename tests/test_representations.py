"""Real irreducible representations, held against what the theory says of any group and what is known of some."""

import itertools

import numpy as np
import pytest

from modgrok.algebra import representations
from modgrok.algebra.representations import classes_of, inverses_of, real_irreducibles
from modgrok.base.errors import FaultError


def table_of(elements, multiply):
    """The table of elements that are listed with the identity first."""
    place = {element: k for k, element in enumerate(elements)}
    return np.array([[place[multiply(a, b)] for b in elements] for a in elements])


def permutations(degree, even=False):
    def is_even(a):
        return sum(a[i] > a[j] for i, j in itertools.combinations(range(degree), 2)) % 2 == 0

    elements = [a for a in itertools.permutations(range(degree)) if is_even(a) or not even]
    return table_of(elements, lambda a, b: tuple(a[i] for i in b))


def matrices(p):
    """SL(2, p), the identity first."""
    found = [e for e in itertools.product(range(p), repeat=4) if (e[0] * e[3] - e[1] * e[2]) % p == 1]
    found.sort(key=lambda e: (e != (1, 0, 0, 1), e))
    return table_of(found, lambda x, y: (
        (x[0] * y[0] + x[1] * y[2]) % p, (x[0] * y[1] + x[1] * y[3]) % p,
        (x[2] * y[0] + x[3] * y[2]) % p, (x[2] * y[1] + x[3] * y[3]) % p))  # fmt: skip


def turns(m, square):
    """r^m = 1, s r s⁻¹ = r⁻¹, s² = r^square."""

    def multiply(a, b):
        turned = a[0] + (-b[0] if a[1] else b[0]) + (square if a[1] and b[1] else 0)
        return turned % m, (a[1] + b[1]) % 2

    return table_of([(i, j) for j in range(2) for i in range(m)], multiply)


def cyclic(*moduli):
    elements = list(itertools.product(*map(range, moduli)))
    return table_of(elements, lambda a, b: tuple((x + y) % m for x, y, m in zip(a, b, moduli, strict=True)))


KNOWN = {  # (kind, complex degree) of each, from the character tables in textbooks
    "S4": (permutations(4), ["real 1"] * 2 + ["real 2"] + ["real 3"] * 2),
    "S5": (permutations(5), ["real 1"] * 2 + ["real 4"] * 2 + ["real 5"] * 2 + ["real 6"]),
    "A5": (permutations(5, even=True), ["real 1"] + ["real 3"] * 2 + ["real 4", "real 5"]),
    "Q8": (turns(4, 2), ["real 1"] * 4 + ["quaternionic 2"]),
    "D30": (turns(30, 0), ["real 1"] * 4 + ["real 2"] * 14),
    "Dic15": (turns(30, 15), ["real 1"] * 2 + ["complex 1"] + ["real 2"] * 7 + ["quaternionic 2"] * 7),
    "SL(2,3)": (matrices(3), ["real 1", "complex 1", "complex 2", "quaternionic 2", "real 3"]),
    "SL(2,5)": (
        matrices(5),
        ["real 1", *["quaternionic 2"] * 2, *["real 3"] * 2, "real 4", "quaternionic 4", "real 5", "quaternionic 6"],
    ),
    "Z97": (cyclic(97), ["real 1"] + ["complex 1"] * 48),
    "Z2^4": (cyclic(2, 2, 2, 2), ["real 1"] * 16),
    "Z3 x Z6": (cyclic(3, 6), ["real 1"] * 2 + ["complex 1"] * 8),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_kinds_and_degrees_are_those_of_the_textbooks(name):
    table, expected = KNOWN[name]
    assert [f"{rho.kind} {rho.degree}" for rho in real_irreducibles(table)] == expected


@pytest.mark.parametrize("name", KNOWN)
def test_matrices_multiply_as_the_elements_do(name):
    table, _ = KNOWN[name]
    n = len(table)
    for rho in real_irreducibles(table):
        products = np.einsum("aij,bjk->abik", rho.matrices, rho.matrices)
        assert np.abs(products - rho.matrices[table]).max() < 1e-12
        assert np.abs(rho.matrices @ rho.matrices.transpose(0, 2, 1) - np.eye(rho.dimension)).max() < 1e-12
        assert rho.dimension == rho.degree * (1 if rho.kind == "real" else 2)
    assert sum(rho.degree**2 * (2 if rho.kind == "complex" else 1) for rho in real_irreducibles(table)) == n


@pytest.mark.parametrize("name", KNOWN)
def test_characters_are_orthogonal_and_squares_tell_the_kind(name):
    table, _ = KNOWN[name]
    found = real_irreducibles(table)
    characters = np.array([rho.character for rho in found])
    norms = np.diag([{"real": 1, "complex": 2, "quaternionic": 4}[rho.kind] for rho in found])
    assert np.abs(characters @ characters.T / len(table) - norms).max() < 1e-11
    squares = np.diag(table)
    indicators = characters[:, squares].mean(axis=1)  # Frobenius and Schur's, of the real character
    assert np.abs(indicators - [{"real": 1, "complex": 0, "quaternionic": -2}[rho.kind] for rho in found]).max() < 1e-12
    assert (np.abs(characters - characters[:, classes_of(table)]) < 1e-12).all()


@pytest.mark.parametrize("name", ["S4", "SL(2,3)", "Q8", "Dic15"])
def test_every_kth_row_says_all_of_a_matrix(name):
    table, _ = KNOWN[name]
    for rho in real_irreducibles(table):
        rows = rho.matrices[:, :: rho.division]
        between = table[:, inverses_of(table)]
        traces = rho.division * np.einsum("aij,cij->ac", rows, rows)
        assert np.abs(traces - rho.character[between]).max() < 1e-12


def test_the_same_table_gives_the_same_numbers_and_other_names_the_same_characters():
    table, _ = KNOWN["S4"]
    first, second = real_irreducibles(table), real_irreducibles(table.copy())
    assert all(np.array_equal(a.matrices, b.matrices) for a, b in zip(first, second, strict=True))
    names = np.append(0, 1 + np.random.default_rng(3).permutation(len(table) - 1))
    back = np.argsort(names)
    renamed = real_irreducibles(names[table[np.ix_(back, back)]])

    def spectrum(found):
        return sorted((rho.kind, rho.degree, *np.sort(rho.character.round(6) + 0.0)) for rho in found)

    assert spectrum(first) == spectrum(renamed)


@pytest.mark.parametrize("name", KNOWN)
def test_no_eigenspace_is_turned_by_what_computes_it(name, monkeypatch):
    """LAPACK gives some basis of an eigenspace, on another machine another one."""
    table, _ = KNOWN[name]
    first, spaces, rng = real_irreducibles(table), representations.invariant_spaces, np.random.default_rng(7)

    def turned(*given):
        found = spaces(*given)
        return found and [space @ np.linalg.qr(rng.normal(size=(space.shape[1],) * 2))[0] for space in found]

    monkeypatch.setattr(representations, "invariant_spaces", turned)
    for one, other in zip(first, real_irreducibles(table), strict=True):
        np.testing.assert_allclose(one.matrices, other.matrices, atol=1e-12)


def test_kernels_are_what_is_not_told_from_the_identity():
    table, _ = KNOWN["S4"]
    sizes = sorted(int(rho.kernel.sum()) for rho in real_irreducibles(table))
    assert sizes == [1, 1, 4, 12, 24]  # faithful twice; Klein's four group; A4; all
    assert sum(rho.kernel.sum() == 1 for rho in real_irreducibles(table)) == 2


def test_a_table_that_is_no_group_is_refused():
    table = np.array([[0, 1, 2], [1, 2, 0], [2, 1, 0]])
    with pytest.raises(FaultError, match="is it one of a group"):
        real_irreducibles(table)
