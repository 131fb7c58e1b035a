"""The table of points: which class a value on a bound belongs to, and how the class is told."""

from __future__ import annotations

import pytest

from medical_tasks.calculators.steps import Bands

MIXED = Bands("Bilirubin", "mg/dL", 1, (2, 2), (">", 3, 3))
OVER = Bands("MAP", "mm Hg", 4, (">", 49, 2), (">", 69, 0))
FROM = Bands("Age", "", 0, (45, 1), (65, 2))


@pytest.mark.parametrize(
    ("bands", "value", "points", "words"),
    [
        (MIXED, 1.99, 1, "Bilirubin 1.99 mg/dL is under 2"),
        (MIXED, 2, 2, "Bilirubin 2 mg/dL is 2 to 3"),
        (MIXED, 3, 2, "Bilirubin 3 mg/dL is 2 to 3"),
        (MIXED, 3.01, 3, "Bilirubin 3.01 mg/dL is over 3"),
        (OVER, 49, 4, "MAP 49 mm Hg is 49 or less"),
        (OVER, 49.5, 2, "MAP 49.5 mm Hg is over 49 to 69"),
        (OVER, 69, 2, "MAP 69 mm Hg is over 49 to 69"),
        (OVER, 70, 0, "MAP 70 mm Hg is over 69"),
        (FROM, 44, 0, "Age 44 is under 45"),
        (FROM, 45, 1, "Age 45 is 45 to under 65"),
        (FROM, 65, 2, "Age 65 is 65 or more"),
    ],
)
def test_classes(bands: Bands, value: float, points: int, words: str) -> None:
    assert bands.find(value) == (points, words)


@pytest.mark.parametrize("steps", [((3, 1), (2, 2)), ((">", 3, 1), (">", 3, 2)), ((">", 3, 1), (3, 2))])
def test_steps_must_ascend(steps: tuple[tuple[str, float, int], ...]) -> None:
    with pytest.raises(ValueError, match="MAP: the steps do not ascend"):
        Bands("MAP", "", 0, *steps)  # type: ignore[arg-type]
