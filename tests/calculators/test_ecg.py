"""QT: units, impossible rates, and the five formulas at one heart rate against each other."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate

SLUGS = ("qtc_bazett", "qtc_fridericia", "qtc_framingham", "qtc_hodges", "qtc_rautaharju")


def test_bazett_corrects_most_at_a_fast_rate() -> None:
    entities = {"QT interval": [360, "msec"], "Heart Rate or Pulse": [100, "beats per minute"]}
    answers = {slug: calculate(slug, entities).answer for slug in SLUGS}
    assert answers == {
        "qtc_bazett": pytest.approx(464.758),
        "qtc_fridericia": pytest.approx(426.829, rel=1e-5),
        "qtc_framingham": pytest.approx(421.6),
        "qtc_hodges": pytest.approx(430.0),
        "qtc_rautaharju": pytest.approx(440.0),
    }


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize(
    ("qt", "rate", "message"),
    [
        ([400, "msec"], [0, "bpm"], "Heart Rate or Pulse: 0 beats per minute is outside what is possible"),
        (
            [400, "msec"],
            [60, "msec"],
            "Heart Rate or Pulse: unit 'msec' is not accepted; give one of: beats per minute",
        ),
        ([400, "s"], [60, "bpm"], "QT interval: 400000 msec is outside what is possible"),
        (0.4, [60, "bpm"], "QT interval: 0.4 msec is outside what is possible"),
        (None, [60, "bpm"], "missing required input: QT interval"),
    ],
)
def test_impossible_tracings(slug: str, qt: object, rate: object, message: str) -> None:
    with pytest.raises(CalculatorInputError, match=message):
        calculate(slug, {"QT interval": qt, "Heart Rate or Pulse": rate})
