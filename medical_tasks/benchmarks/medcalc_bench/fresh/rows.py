"""Rows of the `fresh` configuration: a calculator's case and question, the note and the answer, put together.

There are several wordings of each question, each naming the rule and the unit that the answer needs. Where published variants
of a rule give different answers (the factor of a sodium correction, the weight that counts in a clearance), every wording names
the variant of the dataset, so that the gold is the only right answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.demo import decimal_limits
from medical_tasks.benchmarks.medcalc_bench.fresh import cases_findings, cases_laboratory, cases_measures
from medical_tasks.benchmarks.medcalc_bench.fresh.cases_measures import steroid_words
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart, note_text
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.remarks import add_background
from medical_tasks.benchmarks.medcalc_bench.gold import canonical_entities
from medical_tasks.calculators import CALCULATORS, AnyCalculator, Result

__all__ = ["CASES", "LONGEST", "QUESTIONS", "SHORTEST", "FreshItem", "draw_item", "fresh_row", "fresh_rows"]


SHORTEST, LONGEST = 60, 250
"""Words of a note, at least and at most."""

_AIM, _BRIEF_AIM = (80, 125), (72, 95)


@dataclass(frozen=True, slots=True)
class FreshItem:
    """One drawn question.

    Attributes:
        calculator: what is asked for.
        note: the note.
        question: the question.
        entities: what the note says of the calculator's inputs.
        result: the calculator's answer with its steps.
    """

    calculator: AnyCalculator
    note: str
    question: str
    entities: Mapping[str, object]
    result: Result


def draw_item(calculator: AnyCalculator, key: str) -> FreshItem:
    """Draws a patient for a calculator.

    Args:
        calculator: one of the 55.
        key: seeds the draws; the item depends on calculator and key alone.

    Returns:
        The item.
    """
    draw = Draw(key)
    chart = CASES[calculator.id](calculator, draw)
    aim = draw.whole(*(_BRIEF_AIM if chart.brief else _AIM))
    add_background(chart, _words(chart), aim)
    question = draw.pick(QUESTIONS[calculator.id])
    if calculator.slug == "steroid_conversion":
        source, target = chart.entities["input steroid"], chart.entities["target steroid"]
        question = question.replace("{source}", steroid_words(source[0])).replace("{target}", steroid_words(target))  # type: ignore[index, arg-type]
    return FreshItem(calculator, note_text(chart), question, chart.entities, calculator.calculate(chart.entities))


def _words(chart: Chart) -> int:
    """About how long the note is already: its frame and everything stated so far."""
    parts = [*chart.story]
    parts += [text for texts in (*chart.sentences.values(), *chart.phrases.values()) for text in texts]
    parts += [reading.written(brief=chart.brief) for readings in chart.values.values() for reading in readings]
    return (5 if chart.brief else 12) + len(chart.reason.split()) + sum(len(part.split()) for part in parts)


def fresh_row(seed: int, n: int) -> dict[str, Any]:
    """Makes one row.

    Args:
        seed: of the whole set.
        n: number of the row, from 1; calculators take turns, so 55 rows in a row hold each once.

    Returns:
        The row, with the names and types of the released rows. It depends on `seed` and `n` alone.
    """
    item = draw_item(CALCULATORS[(n - 1) % len(CALCULATORS)], f"{seed}:{n}")
    calculator, answer = item.calculator, item.result.answer_text
    low, high = decimal_limits(answer) if calculator.output == "decimal" else (answer, answer)
    return {
        "row_number": n,
        "calculator_id": calculator.id,
        "calculator_name": calculator.name,
        "category": calculator.category,
        "output_type": calculator.output,
        "note_id": f"fresh-{seed}-{n}",
        "note_type": "Synthetic",
        "patient_note": item.note,
        "question": item.question,
        "relevant_entities": canonical_entities(repr(dict(item.entities))),
        "ground_truth_answer": answer,
        "lower_limit": low,
        "upper_limit": high,
        "ground_truth_explanation": item.result.explanation,
        "source_category": calculator.category,
    }


def fresh_rows(seed: int, n: int) -> Iterator[dict[str, Any]]:
    """Makes the rows of a set.

    Args:
        seed: any whole number; another seed gives other questions.
        n: how many.

    Yields:
        The rows in order; those of a smaller set of the same seed are the first of a larger one.
    """
    for number in range(1, n + 1):
        yield fresh_row(seed, number)


Case: TypeAlias = Callable[[AnyCalculator, Draw], Chart]

CASES: Final[Mapping[int, Case]] = MappingProxyType(
    {
        2: cases_measures.clearance,
        3: cases_measures.filtration_rate,
        4: cases_findings.cha2ds2_vasc,
        5: cases_measures.mean_arterial_pressure,
        6: cases_measures.body_size,
        7: cases_laboratory.calcium,
        8: cases_findings.wells_pe,
        9: cases_measures.filtration_rate,
        10: cases_measures.body_size,
        11: cases_measures.qtc,
        13: cases_measures.due_date,
        15: cases_laboratory.child_pugh,
        16: cases_findings.wells_dvt,
        17: cases_findings.revised_cardiac_risk,
        18: cases_findings.heart_score,
        19: cases_laboratory.fib_4,
        20: cases_findings.centor,
        21: cases_laboratory.coma_score,
        22: cases_measures.maintenance_fluids,
        23: cases_laboratory.meld_na,
        24: cases_measures.steroid_conversion,
        25: cases_findings.has_bled,
        26: cases_laboratory.sodium_in_hyperglycemia,
        27: cases_laboratory.glasgow_blatchford,
        28: cases_laboratory.apache_ii,
        29: cases_findings.pneumonia_severity,
        30: cases_laboratory.osmolality,
        31: cases_laboratory.insulin_resistance,
        32: cases_laboratory.charlson,
        33: cases_findings.feverpain,
        36: cases_findings.caprini,
        38: cases_laboratory.free_water,
        39: cases_laboratory.gap,
        40: cases_laboratory.fractional_excretion,
        43: cases_laboratory.sofa,
        44: cases_laboratory.ldl,
        45: cases_findings.curb_65,
        46: cases_findings.framingham,
        48: cases_findings.perc,
        49: cases_measures.opioids,
        51: cases_findings.sirs,
        56: cases_measures.qtc,
        57: cases_measures.qtc,
        58: cases_measures.qtc,
        59: cases_measures.qtc,
        60: cases_measures.body_size,
        61: cases_measures.target_weight,
        62: cases_measures.body_size,
        63: cases_laboratory.gap,
        64: cases_laboratory.gap,
        65: cases_laboratory.gap,
        66: cases_laboratory.gap,
        67: cases_laboratory.gap,
        68: cases_measures.conception_date,
        69: cases_measures.gestational_age,
    }
)
"""Calculator id to the function that draws its patient; one for each of the 55."""


_GAP: Final = "Leave potassium out."
_NORMAL: Final = "Take 12 mEq/L as the normal anion gap"
_ALBUMIN: Final = "correct by 2.5 mEq/L for each g/dL of albumin below 4 g/dL"
_DATE: Final = "Answer with the date alone, as MM/DD/YYYY."
_WEIGHT_RULE: Final = (
    "Which weight counts depends on the BMI: the actual weight when underweight, the smaller of ideal and actual weight when "
    "normal, the adjusted weight when overweight or obese."
)

QUESTIONS: Final[Mapping[int, tuple[str, ...]]] = MappingProxyType(
    {
        2: (
            f"What is this patient's creatinine clearance by Cockcroft-Gault, in mL/min? {_WEIGHT_RULE}",
            f"Compute the Cockcroft-Gault creatinine clearance in mL/min. {_WEIGHT_RULE}",
        ),
        3: (
            "What is the estimated GFR in mL/min/1.73 m² by the CKD-EPI creatinine equation of 2021?",
            "Using the race-free CKD-EPI creatinine equation (2021), what GFR in mL/min/1.73 m² results?",
        ),
        4: (
            "How many points does this patient have on the CHA2DS2-VASc score?",
            "What is the CHA2DS2-VASc score of this patient?",
        ),
        5: (
            "What is the mean arterial pressure in mm Hg?",
            "Calculate this patient's mean arterial pressure (mm Hg) from the blood pressure stated.",
        ),
        6: (
            "What is this patient's body mass index in kg/m²?",
            "Calculate the BMI, in kg/m².",
        ),
        7: (
            "What is the albumin-corrected calcium in mg/dL? Take 4 g/dL as the normal albumin.",
            "Correct this patient's calcium for albumin (normal albumin 4 g/dL) and give the result in mg/dL.",
        ),
        8: (
            "What is this patient's score by Wells' criteria for pulmonary embolism?",
            "How many points do Wells' criteria for pulmonary embolism give here?",
        ),
        9: (
            "What GFR in mL/min/1.73 m² does the MDRD equation (four variables, factor 175) estimate, without a race factor?",
            "Using the IDMS-traceable MDRD equation (factor 175) and no race factor, what is the GFR in mL/min/1.73 m²?",
        ),
        10: (
            "What is this patient's ideal body weight in kg by Devine's formula?",
            "Calculate the ideal body weight (Devine), in kg.",
        ),
        11: (
            "What is the corrected QT interval by Bazett's formula, in msec?",
            "Correct the QT interval for heart rate with Bazett's formula; give msec.",
        ),
        13: (
            f"What is the due date by Naegele's rule, adjusted for the length of the cycle (28 days if not stated)? {_DATE}",
            f"When is the child due by Naegele's rule, with the cycle length taken into account (28 days if unknown)? {_DATE}",
        ),
        15: (
            "What is this patient's Child-Pugh score in points?",
            "How many Child-Pugh points does this patient have?",
        ),
        16: (
            "What is this patient's score by Wells' criteria for deep vein thrombosis?",
            "How many points do Wells' criteria for DVT give this patient?",
        ),
        17: (
            "What is the revised cardiac risk index (Lee) before this operation, in points?",
            "How many points does this patient have on the Revised Cardiac Risk Index?",
        ),
        18: (
            "What is this patient's HEART score for major cardiac events?",
            "How many points does the HEART score give this patient?",
        ),
        19: (
            "What is the FIB-4 index of this patient?",
            "Calculate the Fibrosis-4 (FIB-4) index.",
        ),
        20: (
            "What is this patient's Centor score as modified by McIsaac?",
            "How many points does the modified (McIsaac) Centor score give?",
        ),
        21: (
            "What is this patient's Glasgow Coma Score?",
            "Add up the Glasgow Coma Score from the responses described.",
        ),
        22: (
            "What maintenance fluid rate in mL/hr does the 4-2-1 rule give?",
            "By weight (4-2-1 rule), what is the maintenance fluid in mL/hr?",
        ),
        23: (
            "What is this patient's MELD-Na score by the OPTN rules of 2016?",
            "Calculate the MELD score with sodium (MELD-Na, OPTN 2016).",
        ),
        24: (
            "What dose of {target} in mg is equivalent to the patient's dose of {source}?",
            "Convert the stated dose of {source} into the equivalent dose of {target}, in mg.",
        ),
        25: (
            "What is this patient's HAS-BLED score?",
            "How many points does this patient have on the HAS-BLED score?",
        ),
        26: (
            "What is the sodium corrected for hyperglycemia in mEq/L, by 2.4 mEq/L for each 100 mg/dL of glucose above 100?",
            "Using Hillier's correction (2.4 mEq/L per 100 mg/dL of glucose over 100 mg/dL), what is the sodium in mEq/L?",
        ),
        27: (
            "What is this patient's Glasgow-Blatchford bleeding score?",
            "How many points does the Glasgow-Blatchford score give?",
        ),
        28: (
            "What is this patient's APACHE II score?",
            "How many points does this patient have by APACHE II?",
        ),
        29: (
            "What is this patient's Pneumonia Severity Index in points?",
            "How many points does the Pneumonia Severity Index (PSI) give?",
        ),
        30: (
            "What is the calculated serum osmolality in mOsm/kg, from sodium, urea nitrogen and glucose?",
            "Calculate the serum osmolality (2 × sodium + BUN/2.8 + glucose/18), in mOsm/kg.",
        ),
        31: (
            "What is this patient's HOMA-IR (fasting insulin in µIU/mL × fasting glucose in mg/dL / 405)?",
            "Calculate the insulin resistance by HOMA-IR: fasting insulin in µIU/mL times fasting glucose in mg/dL, over 405.",
        ),
        32: (
            "What is this patient's Charlson Comorbidity Index, points for age included?",
            "How many points does the age-adjusted Charlson Comorbidity Index give?",
        ),
        33: (
            "What is this patient's FeverPAIN score?",
            "How many FeverPAIN points does this patient have?",
        ),
        36: (
            "What is this patient's Caprini score (2005) for venous thromboembolism?",
            "How many points does the Caprini score of 2005 give this patient?",
        ),
        38: (
            "What is the free water deficit in liters, for a target sodium of 140 mEq/L? Total body water is 0.6 of the weight "
            "for men and 0.5 for women, from the age of 65 on 0.5 and 0.45.",
            "Calculate the free water deficit in L (target sodium 140 mEq/L; body water 0.6 of the weight for men, 0.5 for "
            "women; 0.5 and 0.45 from 65 years).",
        ),
        39: (
            f"What is this patient's anion gap in mEq/L? {_GAP}",
            f"Calculate the serum anion gap, in mEq/L. {_GAP}",
        ),
        40: (
            "What is the fractional excretion of sodium (FENa), in percent?",
            "Calculate FENa as a percentage.",
        ),
        43: (
            "What is this patient's SOFA score?",
            "How many points does this patient have on the Sequential Organ Failure Assessment (SOFA)?",
        ),
        44: (
            "What is the LDL cholesterol by Friedewald's formula, in mg/dL?",
            "Estimate LDL cholesterol with the Friedewald equation; answer in mg/dL.",
        ),
        45: (
            "What is this patient's CURB-65 score?",
            "How many CURB-65 points does this patient have?",
        ),
        46: (
            "What is the ten-year risk of hard coronary heart disease by the Framingham equations of ATP III, in percent?",
            "Using the Framingham risk equations (ATP III, hard coronary heart disease), what is the ten-year risk in percent?",
        ),
        48: (
            "How many criteria of the PERC rule for pulmonary embolism are met?",
            "Count the PERC criteria that this patient meets.",
        ),
        49: (
            "How many morphine milligram equivalents (MME) does this patient take a day? Use the CDC factors of 2022; buccal "
            "fentanyl counts 0.13 for each µg.",
            "What is the daily dose in morphine milligram equivalents (CDC 2022; buccal fentanyl 0.13 for each µg)?",
        ),
        51: (
            "How many SIRS criteria does this patient meet?",
            "Count the criteria of the systemic inflammatory response syndrome that are met.",
        ),
        56: (
            "What is the corrected QT interval by Fridericia's formula, in msec?",
            "Correct the QT interval with Fridericia's formula; give msec.",
        ),
        57: (
            "What is the corrected QT interval by the Framingham formula, in msec?",
            "Correct the QT interval with the Framingham formula; give msec.",
        ),
        58: (
            "What is the corrected QT interval by Hodges' formula, in msec?",
            "Correct the QT interval with Hodges' formula; give msec.",
        ),
        59: (
            "What is the corrected QT interval by Rautaharju's formula, QT × (120 + heart rate) / 180, in msec?",
            "Correct the QT interval with Rautaharju's formula (QT times 120 plus heart rate, over 180); give msec.",
        ),
        60: (
            "What is this patient's body surface area in m² by Mosteller's formula?",
            "Calculate the body surface area (Mosteller), in m².",
        ),
        61: (
            "At what weight in kg does this patient reach the target BMI?",
            "What is the target weight in kg for the BMI aimed at?",
        ),
        62: (
            "What is this patient's adjusted body weight in kg (ideal weight by Devine plus 40 % of the excess)?",
            "Calculate the adjusted body weight in kg: Devine's ideal weight plus 0.4 of the difference to the actual weight.",
        ),
        63: (
            f"What is this patient's delta gap in mEq/L? {_NORMAL}. {_GAP}",
            f"Calculate the delta gap, in mEq/L. {_NORMAL}. {_GAP}",
        ),
        64: (
            f"What is this patient's delta ratio? {_NORMAL} and 24 mEq/L as the normal bicarbonate. {_GAP}",
            f"Calculate the delta ratio. {_NORMAL} and 24 mEq/L as the normal bicarbonate. {_GAP}",
        ),
        65: (
            f"What is this patient's albumin-corrected anion gap in mEq/L? For albumin, {_ALBUMIN}. {_GAP}",
            f"Calculate the anion gap corrected for albumin, in mEq/L; {_ALBUMIN}. {_GAP}",
        ),
        66: (
            f"What is this patient's albumin-corrected delta gap in mEq/L? {_NORMAL}; {_ALBUMIN}. {_GAP}",
            f"Calculate the delta gap of the albumin-corrected anion gap, in mEq/L. {_NORMAL}; {_ALBUMIN}. {_GAP}",
        ),
        67: (
            f"What is this patient's albumin-corrected delta ratio? {_NORMAL} and 24 mEq/L as the normal bicarbonate; "
            f"{_ALBUMIN}. {_GAP}",
            f"Calculate the delta ratio with the albumin-corrected gap. {_NORMAL} and 24 mEq/L as the normal bicarbonate; "
            f"{_ALBUMIN}. {_GAP}",
        ),
        68: (
            f"What is the estimated date of conception, 14 days after the last menstrual period began? {_DATE}",
            f"Estimate the date of conception, taking it 14 days after the start of the last menstrual period. {_DATE}",
        ),
        69: (
            "How far is the pregnancy on the day of the visit, by the last menstrual period? Answer with the completed weeks "
            "and the remaining days, as in (12 weeks, 3 days).",
            "What is the gestational age by the last menstrual period? Answer as in (12 weeks, 3 days).",
        ),
    }
)
