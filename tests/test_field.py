"""Field arithmetic against Python integers and brute force."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest

from modgrok.algebra.field import (
    check_modulus,
    check_prime,
    exp_table,
    factorise,
    factors_text,
    generator,
    inverse,
    is_prime,
    log_table,
    power_period,
    powers,
    reduce_exponent,
)
from modgrok.base.errors import InputError


def sieve(limit: int) -> list[int]:
    composite = bytearray(limit + 1)
    primes = []
    for n in range(2, limit + 1):
        if not composite[n]:
            primes.append(n)
            composite[n * n :: n] = b"\x01" * len(range(n * n, limit + 1, n))
    return primes


PRIMES = sieve(10_007)


def test_is_prime_agrees_with_a_sieve():
    assert [n for n in range(-3, 10_008) if is_prime(n)] == PRIMES


@pytest.mark.parametrize("n", [1, 2, 3, 4, 97, 360, 1024, 9409, 10_007, 30_030, 2**31 - 1, 10_007**2])
def test_factorise_multiplies_back(n):
    product = 1
    for prime, exponent in factorise(n):
        assert prime in (2, 3) or all(prime % d for d in range(2, int(prime**0.5) + 1))
        product *= prime**exponent
    assert product == n
    assert list(factorise(n)) == sorted(factorise(n))


def test_generators_and_tables_of_every_prime_up_to_10007():
    """The first power of g that is 1 is the (p-1)-th: g is multiplied up one step at a time."""
    for p in PRIMES:
        g, power, seen = generator(p), 1, []
        for _ in range(p - 1):
            seen.append(power)
            power = power * g % p
        assert power == 1, p
        assert len(set(seen)) == p - 1, p
        assert exp_table(p).tolist() == seen, p
        assert log_table(p)[0] == -1, p
        assert np.array_equal(log_table(p)[seen], np.arange(p - 1)), p


@pytest.mark.parametrize("p, g", [(2, 1), (3, 2), (5, 2), (7, 3), (23, 5), (41, 6), (97, 5), (191, 19), (409, 21)])
def test_generator_is_the_smallest(p, g):
    """Smallest primitive roots as in OEIS A001918."""
    assert generator(p) == g


@pytest.mark.parametrize("p", [2, 3])
def test_the_smallest_fields_have_tables_too(p):
    assert exp_table(p).tolist() == list(range(1, p))
    assert log_table(p).tolist() == [-1, *range(p - 1)]


def test_logarithms_turn_products_into_sums():
    p = 101
    logs, exps = log_table(p), exp_table(p)
    for a in range(1, p):
        for b in range(1, p):
            assert exps[(logs[a] + logs[b]) % (p - 1)] == a * b % p


def test_tables_cannot_be_changed_by_a_caller():
    with pytest.raises(ValueError, match="read-only"):
        exp_table(7)[0] = 3
    with pytest.raises(ValueError, match="read-only"):
        log_table(7)[0] = 3


def test_power_period_by_brute_force():
    """(start, period) holds for all bases of every m <= 200, and no smaller period or start does."""

    def holds(m: int, start: int, period: int) -> bool:
        return all(pow(a, start, m) == pow(a, start + period, m) for a in range(m))

    for m in range(2, 201):
        start, period = power_period(m)
        assert holds(m, start, period), m
        assert not any(holds(m, start, shorter) for shorter in range(1, period)), m
        assert start == 0 or not holds(m, start - 1, period), m


@pytest.mark.parametrize("m", [2, 3, 8, 12, 13, 72, 97, 100])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 12, 13, 24, 96, 97, 100, 10**6, 10**30 + 7])
def test_reduced_exponents_and_powers_act_alike(m, exponent):
    residues = range(m)
    expected = [pow(a, exponent, m) for a in residues]
    assert [pow(a, reduce_exponent(exponent, m), m) for a in residues] == expected
    assert powers(np.arange(m), exponent, m).tolist() == expected
    assert reduce_exponent(exponent, m) < sum(power_period(m))


def test_powers_at_the_largest_modulus_do_not_overflow():
    m = 1_048_573
    bases = np.array([m - 1, m - 2, 524_287])
    assert powers(bases, 10**9, m).tolist() == [pow(int(a), 10**9, m) for a in bases]


def test_an_inverse_times_its_number_is_one_and_some_numbers_have_none():
    for m in (2, 9, 97):
        for a in range(1, m):
            if gcd(a, m) == 1:
                assert a * inverse(a, m) % m == 1
    with pytest.raises(InputError, match="6 has no inverse modulo 9; its greatest common divisor with 9 is 3"):
        inverse(6, 9)


@pytest.mark.parametrize(
    "modulus, message",
    [
        (1, "modulus must be at least 2, got 1; give 97, for example"),
        (-5, "modulus must be at least 2, got -5"),
        ((1 << 20) + 1, "modulus must be at most 1048576"),
        (7.0, "modulus must be a whole number, got 7.0"),
        ("7", "modulus must be a whole number, got '7'"),
        (None, "modulus must be a whole number, got None"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_moduli_that_are_refused(modulus, message):
    with pytest.raises(InputError, match=message):
        check_modulus(modulus)


def test_numpy_integers_are_moduli():
    assert check_modulus(np.int32(97)) == 97
    assert type(check_modulus(np.int32(97))) is int


def test_composite_where_a_prime_is_needed():
    assert check_prime(97) == 97
    with pytest.raises(InputError, match=r"modulus must be a prime to multiply, got 91 = 7 · 13; sums of"):
        check_prime(91)
    with pytest.raises(InputError, match=r"to have a generator, got 8 = 2\^3"):
        generator(8)
    assert factors_text(360) == "2^3 · 3^2 · 5"
