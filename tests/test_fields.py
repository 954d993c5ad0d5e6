"""Finite fields, against polynomials multiplied here with lists of Python's integers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import modgrok as mg
from modgrok.algebra.field import generator
from modgrok.algebra.fields import CONWAY, LARGEST_FIELD

ORDERS = (2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 25, 27)


def prime_factors(n):
    return {d for d in range(2, n + 1) if n % d == 0 and all(d % e for e in range(2, d))}


def digits(number, p, k):
    return [number // p**i % p for i in range(k)]


def times(a, b, modulus, p):
    """The product of two polynomials, lowest coefficient first, modulo one with leading coefficient 1."""
    k = len(modulus) - 1
    found = [0] * (2 * k - 1)
    for (i, x), (j, y) in itertools.product(enumerate(a), enumerate(b)):
        found[i + j] = (found[i + j] + x * y) % p
    for top in range(2 * k - 2, k - 1, -1):
        for j, c in enumerate(modulus):
            found[top - k + j] = (found[top - k + j] - (c * found[top] if j < k else 0)) % p
    return found[:k]


def power(a, exponent, modulus, p):
    found = [1, *[0] * (len(a) - 1)]
    for bit in bin(exponent)[2:]:
        found = times(found, found, modulus, p)
        found = times(found, a, modulus, p) if bit == "1" else found
    return found


@pytest.mark.parametrize("q", ORDERS)
def test_sums_products_and_inverses_are_those_of_polynomials(q):
    field = mg.finite_field(q)
    p, k = field.characteristic, field.degree
    assert p**k == q
    modulus = list(reversed(field.modulus))
    everything = np.arange(q)
    sums, products = field.add(everything[:, None], everything), field.multiply(everything[:, None], everything)
    for a, b in itertools.product(range(q), repeat=2):
        x, y = digits(a, p, k), digits(b, p, k)
        assert digits(sums[a, b], p, k) == [(i + j) % p for i, j in zip(x, y, strict=True)]
        expected = times(x, y, modulus, p) if k > 1 else [a * b % p]
        assert digits(products[a, b], p, k) == expected
    inverses = field.inverse(everything)
    assert inverses[0] == -1 and (products[everything[1:], inverses[1:]] == 1).all()
    assert (field.add(everything, field.negate(everything)) == 0).all()
    for exponent in (0, 1, 2, q - 1, q, 10**9 + 7):
        wanted = np.ones(q, dtype=int)
        for _ in range(exponent if exponent <= q else (exponent - 1) % (q - 1) + 1):
            wanted = products[wanted, everything]
        assert (field.power(everything, exponent) == wanted).all()


def conway(p, k, known):
    """From the definition: the least primitive polynomial, in the order of signed coefficients, whose root's norms
    to the subfields are roots of their Conway polynomials."""
    q = p**k
    for signed in itertools.product(range(p), repeat=k):
        modulus = [signed[k - 1 - d] * (-1) ** (k - d) % p for d in range(k)] + [1]
        t = [0, 1, *[0] * (k - 2)]
        one = [1, *[0] * (k - 1)]
        if modulus[0] == 0 or power(t, q - 1, modulus, p) != one:
            continue
        if any(power(t, (q - 1) // r, modulus, p) == one for r in prime_factors(q - 1)):
            continue
        for d in (d for d in range(1, k) if k % d == 0):
            norm, value = power(t, (q - 1) // (p**d - 1), modulus, p), [0] * k
            for c in known[p, d]:
                value = times(value, norm, modulus, p)
                value[0] = (value[0] + c) % p
            if any(value):
                break
        else:
            return tuple(reversed(modulus))
    raise AssertionError


def test_the_moduli_are_the_conway_polynomials():
    known = {(p, 1): (1, -generator(p) % p) for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)} | CONWAY
    everything = {
        (p, k) for p in range(2, 33) if prime_factors(p) == {p} for k in range(2, 11) if p**k <= LARGEST_FIELD
    }
    assert set(CONWAY) == everything
    for p, k in CONWAY:
        assert CONWAY[p, k] == conway(p, k, known)


def test_elements_have_the_names_of_polynomials_and_are_read_as_people_write_them():
    field = mg.finite_field(81)
    assert [field.name(k) for k in (0, 1, 2, 3, 5, 9, 80)] == ["0", "1", "2", "t", "t + 2", "t²", "2t³ + 2t² + 2t + 2"]
    assert all(field.element(field.name(k)) == k for k in range(81))
    assert field.element("t^2 + 2 t") == field.element("2t+t2") == field.element("t² − t") == field.element("#15") == 15
    assert field.element("t^4") == field.power(3, 4) and field.element("-1") == 2 and field.element("4") == 1
    assert repr(mg.finite_field(9)) == "<Field: GF(9), characteristic 3, t² + 2t + 2 = 0>"
    for wrong in ("", "x", "t+", "t++1", "1.5", "2t3t4t5t6t7x", None, 81, -1, "#81", "t" * 600):
        with pytest.raises(mg.InputError, match="none of the 81 elements"):
            field.element(wrong)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (6, "prime p, its characteristic, got 6 = 2 · 3"),
        (100, "got 100 = 2\\^2 · 5\\^2"),
        (1, "fields may have 2"),
        (10**12, "fields may have 2"),
        (2187, "k > 1, may have 1,024"),
        ("many", "how many elements"),
    ],
)
def test_numbers_of_elements_that_no_field_has_are_refused(q, message):
    with pytest.raises(mg.InputError, match=message):
        mg.finite_field(q)


def test_a_prime_field_is_the_integers_modulo_the_prime():
    text = "3 x^5 y + y^2 - 4"
    assert (mg.table(text, field=97) == mg.table(text, mod=97)).all()
    known = mg.table("x/y", field=11)
    assert (known == mg.table("x/y", mod=11)).all() and (known[:, 0] == -1).all()
