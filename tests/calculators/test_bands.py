"""Tables of points: the class of a value on a bound, and the words for the class."""

from __future__ import annotations

import pytest

from medical_tasks.calculators.steps import Bands
from tests.case_tables import tabled

BANDS = {
    "Bilirubin": Bands("Bilirubin", "mg/dL", 1, (2, 2), (">", 3, 3)),
    "MAP": Bands("MAP", "mm Hg", 4, (">", 49, 2), (">", 69, 0)),
    "Age": Bands("Age", "", 0, (45, 1), (65, 2)),
}


@tabled("name", "value", "points", "words")
def test_points_and_words_of_a_class(
    name: str, value: float, points: int, words: str
) -> None:
    assert BANDS[name].find(value) == (points, words)


@pytest.mark.parametrize(
    "steps", [((3, 1), (2, 2)), ((">", 3, 1), (">", 3, 2)), ((">", 3, 1), (3, 2))]
)
def test_steps_must_ascend(steps: tuple[tuple[str, float, int], ...]) -> None:
    with pytest.raises(ValueError, match="MAP: the steps do not ascend"):
        Bands("MAP", "", 0, *steps)  # type: ignore[arg-type]
