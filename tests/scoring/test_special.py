import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.intervals import (
    beta_cdf,
    beta_quantile,
    normal_cdf,
    normal_quantile,
    student_quantile,
    student_tail,
)

# Two-sided 95 % and one-sided 80 % points of Student's t as printed in statistical tables (three decimals).
STUDENT_TABLE = [(1, 0.975, 12.706), (2, 0.975, 4.303), (10, 0.975, 2.228), (30, 0.975, 2.042), (10, 0.8, 0.879)]


@pytest.mark.parametrize(("df", "p", "printed"), STUDENT_TABLE)
def test_student_quantiles_are_those_of_printed_tables(df: int, p: float, printed: float) -> None:
    assert student_quantile(p, df) == pytest.approx(printed, abs=5e-4)


def test_closed_forms() -> None:
    # I_x(1, b) = 1 - (1-x)^b and I_x(a, 1) = x^a; Student's t with one degree of freedom is Cauchy's distribution.
    assert beta_cdf(0.1, 1, 7) == pytest.approx(1 - 0.9**7, rel=1e-14)
    assert beta_cdf(0.3, 5, 1) == pytest.approx(0.3**5, rel=1e-14)
    assert beta_quantile(0.2, 1, 7) == pytest.approx(1 - 0.8 ** (1 / 7), rel=1e-13)
    assert student_tail(1.0, 1) == pytest.approx(0.25, rel=1e-14)
    assert student_tail(-1.0, 1) == pytest.approx(0.75, rel=1e-14)
    assert student_quantile(0.9, 1) == pytest.approx(math.tan(0.4 * math.pi), rel=1e-12)


def test_ends_and_middle() -> None:
    assert [beta_cdf(x, 2, 3) for x in (-1.0, 0.0, 1.0, 2.0)] == [0.0, 0.0, 1.0, 1.0]
    assert [beta_quantile(p, 2, 3) for p in (0.0, 1.0)] == [0.0, 1.0]
    assert student_quantile(0.5, 4) == 0.0
    assert student_quantile(0.1, 4) == -student_quantile(0.9, 4)


def test_normal_tail_keeps_its_precision() -> None:
    # Φ(-10) = 7.619853024160525e-24 (Abramowitz and Stegun, table 26.2, give 23.11805 for its -log10).
    assert -math.log10(normal_cdf(-10.0)) == pytest.approx(23.11805, abs=1e-5)
    assert normal_cdf(normal_quantile(0.975)) == pytest.approx(0.975, rel=1e-14)
    assert normal_quantile(0.975) == pytest.approx(1.959963984540054, abs=1e-14)


@pytest.mark.parametrize("size", [1, 2, 7, 148, 10_000, 1_000_000, 10_000_000])
def test_beta_and_student_agree_with_scipy(size: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    for share in (0.0, 0.001, 0.3, 0.5, 0.999):
        a = 1.0 + math.floor(share * size)
        b = size - a + 2.0
        for p in (1e-6, 0.005, 0.025, 0.5, 0.975):
            x = beta_quantile(p, a, b)
            assert x == pytest.approx(stats.beta.ppf(p, a, b), abs=1e-9)
            assert beta_cdf(x, a, b) == pytest.approx(p, rel=1e-7)
    for p in (0.6, 0.8, 0.975, 0.9995):
        assert student_quantile(p, size) == pytest.approx(stats.t.ppf(p, size), rel=1e-8)
        assert student_tail(student_quantile(p, size), size) == pytest.approx(1 - p, rel=1e-7)


@settings(deadline=None, max_examples=100)
@given(p=st.floats(1e-9, 1 - 1e-9), a=st.floats(0.5, 1e4), b=st.floats(0.5, 1e4))
def test_quantile_inverts_cdf_and_sides_mirror(p: float, a: float, b: float) -> None:
    x = beta_quantile(p, a, b)
    assert 0.0 <= x <= 1.0
    if 1e-12 < x < 1 - 1e-6:
        assert beta_cdf(x, a, b) == pytest.approx(p, rel=1e-6, abs=1e-9)
        assert beta_cdf(1 - x, b, a) == pytest.approx(1 - p, rel=1e-6, abs=1e-9)
