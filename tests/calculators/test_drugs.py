"""Steroids and opioids: names, units, and doses that no published factor covers."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.drugs import EQUIVALENT_MG, FACTORS

PATCH = frozenset({"fentanyl-patch-by-dose"})


@pytest.mark.parametrize(
    "source",
    [
        ["PredniSONE PO", 10, "mg"],
        ("prednisone po", 10.0, "mg"),
        ["PREDNISONE", 10_000, "µg"],
        ["PredniSONE PO", [10, "mg"]],
        ["PredniSONE PO", 10],
        "PredniSONE PO 10 mg",
        "prednisone: 0.01 g",
    ],
)
def test_a_steroid_dose_in_any_form(source: object) -> None:
    assert calculate(24, {"input steroid": source, "target steroid": "dexamethasone iv"}).answer == pytest.approx(1.5)


def test_steroids_are_the_datasets_eleven() -> None:
    assert len(EQUIVALENT_MG) == 11
    potency = {name.split()[0].lower(): round(20 / mg, 4) for name, mg in EQUIVALENT_MG.items()}
    assert potency["hydrocortisone"] == 1
    assert potency["prednisone"] == potency["prednisolone"] == 4
    assert potency["methylprednisolone"] == potency["triamcinolone"] == 5
    assert potency["dexamethasone"] == potency["betamethasone"] == 26.6667
    assert potency["cortisone"] == 0.8


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (["Aspirin", 10, "mg"], "Cortisone PO", "input steroid: expected one of Betamethasone IV, .*; got 'Aspirin'"),
        (
            ["Cortisone PO", 10, "mg"],
            "Aspirin",
            "target steroid: expected one of 'Betamethasone IV', .*; got 'Aspirin'",
        ),
        (["Cortisone PO", -10, "mg"], "Cortisone PO", "input steroid, Cortisone PO: -10 mg is outside"),
        (["Cortisone PO", 10, "mL"], "Cortisone PO", "input steroid, Cortisone PO: unit 'mL' is not accepted"),
        (
            "dexamethasone 4 mg",
            "Cortisone PO",
            "input steroid: expected one of .*; got 'dexamethasone'",
        ),  # which route?
        (10, "Cortisone PO", "input steroid: expected drug and route with a dose"),
        ([], "Cortisone PO", "input steroid: expected drug and route with a dose"),
    ],
)
def test_steroids_that_cannot_be_read(source: object, target: object, message: str) -> None:
    with pytest.raises(CalculatorInputError, match=f"^Steroid Conversion Calculator: {message}"):
        calculate(24, {"input steroid": source, "target steroid": target})


def test_opioids_have_twelve_factors() -> None:
    assert len(FACTORS) == 12


@pytest.mark.parametrize("drug", [drug for drug in FACTORS if drug != "FentANYL patch"])
def test_one_dose_of_each_opioid(drug: Any) -> None:
    factor, unit = FACTORS[drug]
    entities = {f"{drug} Dose": [7, unit], f"{drug} Dose Per Day": [2, "per day"]}
    assert calculate(49, entities).answer == pytest.approx(14 * factor)
    assert calculate(49, {name.upper(): value for name, value in entities.items()}).answer == pytest.approx(14 * factor)


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        ({}, "missing required input: at least one opioid as '<drug> Dose'"),
        ({"Codeine Dose": [30, "mg"]}, r"missing required input: Codeine Dose Per Day \(its dose is given\)"),
        ({"Codeine Dose Per Day": 3}, r"missing required input: Codeine Dose \(its doses per day are given\)"),
        ({"Codeine Dose": [-30, "mg"], "Codeine Dose Per Day": 3}, "Codeine Dose: -30 mg is outside what is possible"),
        ({"Codeine Dose": [30, "mL"], "Codeine Dose Per Day": 3}, "Codeine Dose: unit 'mL' is not accepted"),
        ({"FentANYL patch Dose": [50, "mg"], "FentANYL patch Dose Per Day": 1}, "a patch counts by its rate in µg/h"),
        (
            {"FentANYL patch Dose": [50, "mL"]},
            r"FentANYL patch Dose: expected a rate in µg/h, mcg/hr; got \[50, 'mL'\]",
        ),
        (
            {"FentANYL patch Dose": [25, "µg/h"], "FentANYL patch Dose Per Day": 2},
            "counts by its rate, once a day; got 2",
        ),
    ],
)
def test_opioids_that_cannot_be_counted(entities: dict[str, object], message: str) -> None:
    with pytest.raises(CalculatorInputError, match=message):
        calculate(49, entities)


def test_the_patch_convention_is_off_unless_asked_for() -> None:
    entities = {"FentANYL patch Dose": [50, "mg"], "FentANYL patch Dose Per Day": [2, "per day"]}
    with pytest.raises(CalculatorInputError, match="ask for the convention fentanyl-patch-by-dose"):
        calculate(49, entities)
    result = calculate(49, entities, conventions=PATCH)
    assert result.answer == 240.0
    assert result.explanation.startswith("Convention fentanyl-patch-by-dose: ")


def test_the_patch_convention_leaves_a_rate_alone() -> None:
    assert calculate(49, {"FentANYL patch Dose": [25, "mcg/hr"]}, conventions=PATCH).answer == 60.0


def test_drugs_that_are_not_taken_are_no_assumption() -> None:
    result = calculate(49, {"Morphine Dose": [10, "mg"], "Morphine Dose Per Day": [3, "per day"]})
    assert result.missing_taken_absent == ()
    assert "Codeine" not in result.explanation
