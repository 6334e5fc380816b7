"""The ranges that actions of advice state: on exact models of float arithmetic, at their ends and beyond them.

Floats are divided as OpenCL bounds it, with any error up to 2.5 ulp, and as Intel's GPUs do: by a product with the inverse,
which may be wrong by one ulp. Small results are zero.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from kernlens.analysis.advice.division import DIVIDEND_BITS, DIVISOR_BITS

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
#: The dividends of the action are below this, the divisors below the other.
DIVIDENDS, DIVISORS = 1 << DIVIDEND_BITS, 1 << DIVISOR_BITS
LEAST_NORMAL = np.float32(2.0**-126)
#: 2.5 ulp, relative to the result: an ulp of a float is at most its 2^-23.
ERROR = Fraction(5, 2) / (1 << 23)


def by_inverse(dividends: Floats, divisors: Integers, ulps: int) -> Integers:
    """Return the quotients of a machine whose inverse is so many ulp above the right one."""
    inverses = np.float32(1) / divisors.astype(np.float32)
    for _ in range(abs(ulps)):
        inverses = np.nextafter(inverses, np.float32(np.inf if ulps > 0 else 0))
    return (dividends * inverses).astype(np.int64)


def pairs(below: int) -> tuple[Integers, Integers]:
    """Return the dividends next to multiples of the divisors, where a quotient is most easily wrong, and the divisors."""
    random = np.random.default_rng(7)
    divisors = np.concatenate(
        [np.arange(1, 3000), random.integers(1, below, 3000), random.integers(below, DIVISORS, 500)]
    )
    multiples = [np.unique(random.integers(0, below // divisor + 1, 200)) * divisor for divisor in divisors]
    own = np.repeat(divisors, [len(each) for each in multiples])
    near = np.concatenate([np.concatenate(multiples) + offset for offset in (-1, 0, 1)])
    divisors = np.tile(own, 3)
    within = (near >= 0) & (near < below)
    return near[within], divisors[within]


@pytest.mark.parametrize("ulps", [-1, 0, 1])
def test_quotients_of_floats_with_a_half_are_those_of_integers(ulps: int) -> None:
    dividends, divisors = pairs(DIVIDENDS)
    assert len(dividends) > 500_000
    quotients = by_inverse(dividends.astype(np.float32) + np.float32(0.5), divisors, ulps)
    assert np.array_equal(quotients, dividends // divisors)


def test_the_bound_of_opencl_leaves_no_quotient_wrong() -> None:
    # (a + 0.5) / b is 0.5 / b from an integer at least, and the error is its ERROR at most: b does not matter.
    largest = Fraction(DIVIDENDS - 1) + Fraction(1, 2)
    assert largest * ERROR < Fraction(1, 2)
    assert not Fraction(2 * DIVIDENDS) * ERROR < Fraction(1, 2)
    assert np.float32(DIVIDENDS - 1) + np.float32(0.5) == largest
    assert np.float32(DIVISORS) - np.float32(1) == DIVISORS - 1


def test_without_the_half_they_are_not() -> None:
    dividends, divisors = pairs(DIVIDENDS)
    wrong = by_inverse(dividends.astype(np.float32), divisors, -1) != dividends // divisors
    assert wrong[(dividends == 82) & (divisors == 41)].all()
    assert wrong.any()


def inverse_square(values: Floats) -> Floats:
    """Return 1 / (x * x) of a machine that makes zeros of small numbers."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        squares = values * values
        squares[squares < LEAST_NORMAL] = 0
        results = np.float32(1) / squares
    results[results < LEAST_NORMAL] = 0
    return np.asarray(results, np.float32)


def test_the_inverse_of_a_square_is_the_power_in_its_range() -> None:
    exponents = np.linspace(np.log10(1.1e-19), np.log10(9.2e18), 200_000)
    values = np.clip((10**exponents).astype(np.float32), np.float32(1.1e-19), np.float32(9.2e18))
    powers = values.astype(np.float64) ** -2
    errors = np.abs(inverse_square(values) - powers) / np.spacing(powers.astype(np.float32)).astype(np.float64)
    assert errors.max() < 23
    beyond = inverse_square(np.array([1.0e-19, 9.3e18], np.float32))
    assert np.isinf(beyond[0])
    assert np.finfo(np.float32).max > 1.0e-19**-2
    assert beyond[1] == 0
