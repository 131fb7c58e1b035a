"""The quantities of the notes: bedside values and laboratory values, each with its units, names and usual range.

Factors between units are those of the calculators (`medical_tasks.calculators.substances`): a note's value is converted
back by the calculator, never here.
"""

from __future__ import annotations

from dataclasses import replace

from medical_tasks.benchmarks.medcalc_bench.fresh.amounts import Amount, Form, Place

__all__ = [
    "AA_GRADIENT", "ALBUMIN", "ALT", "AST", "BACKGROUND_LABS", "BACKGROUND_VITALS", "BICARBONATE", "BILIRUBIN", "BMI",
    "BUN", "CALCIUM", "CHLORIDE", "CHOLESTEROL", "COARSE_CREATININE", "COMA_SCORE", "CREATININE", "FIO2", "GLUCOSE",
    "HDL", "HEART_RATE", "HEIGHT", "HEMATOCRIT", "HEMOGLOBIN", "INR", "INSULIN", "PACO2", "PAO2", "PH", "PLATELETS",
    "POTASSIUM", "QT", "RESPIRATORY_RATE", "SODIUM", "SPO2", "TEMPERATURE", "TRIGLYCERIDES", "URINE_CREATININE",
    "URINE_OUTPUT", "URINE_SODIUM", "WEIGHT", "WHITE_CELLS",
]  # fmt: skip


def _amount(names: str, short: str, place: Place, usual: tuple[float, float], concepts: str, *forms: Form) -> Amount:
    return Amount(
        names=tuple(names.split("|")),
        short=tuple(short.split("|")),
        forms=forms,
        place=place,
        usual=usual,
        concepts=frozenset(concepts.split()),
    )


_PERCENT = (" %", "%")
_MM_HG = (" mm Hg", " mmHg")


def _gas(names: str, short: str, usual: tuple[float, float]) -> Amount:
    return _amount(
        names,
        short,
        "gas",
        usual,
        "gas",
        Form(unit="mm Hg", texts=_MM_HG),
        Form(unit="kPa", texts=(" kPa",), digits=1, factor=0.133322387415, exact=False, system="si"),
    )


def _ion(names: str, short: str, usual: tuple[float, float], concepts: str, digits: int = 0) -> Amount:
    return _amount(
        names,
        short,
        "labs",
        usual,
        concepts,
        Form(unit="mmol/L", texts=(" mmol/L",), digits=digits),
        Form(unit="mEq/L", texts=(" mEq/L",), digits=digits, system="us"),
    )


def _lipid(names: str, short: str, usual: tuple[float, float], molar_factor: float) -> Amount:
    return _amount(
        names,
        short,
        "labs",
        usual,
        "lipids",
        Form(unit="mg/dL", texts=(" mg/dL",), system="us"),
        Form(unit="mmol/L", texts=(" mmol/L",), digits=2, factor=molar_factor, exact=False, system="si"),
    )


def _count(names: str, short: str, usual: tuple[float, float], concepts: str, digits: int, step: int) -> Amount:
    return _amount(
        names,
        short,
        "labs",
        usual,
        concepts,
        Form(unit="10^9/L", texts=(" ×10^9/L", " x 10^9/L"), digits=digits, system="si"),
        Form(unit="10^3/µL", texts=(" ×10^3/µL", " K/µL"), digits=digits, system="us"),
        Form(unit="/µL", texts=("/µL", " per µL"), factor=1000, step=step, grouped=True, system="us"),
        Form(unit="/mm^3", texts=("/mm³", " per mm³"), factor=1000, step=step, system="us"),
    )


TEMPERATURE = _amount(
    "temperature|body temperature",
    "T|Temp",
    "vitals",
    (36.3, 37.3),
    "temperature",
    Form(unit="degrees celsius", texts=(" °C", " degrees Celsius"), digits=1),
    Form(unit="degrees fahrenheit", texts=(" °F", " degrees Fahrenheit"), digits=1, factor=1.8, shift=32, system="us"),
)
HEART_RATE = _amount(
    "heart rate|pulse",
    "HR|P",
    "vitals",
    (62, 94),
    "rate",
    Form(unit="beats per minute", texts=(" beats per minute", "/min", " bpm", " per minute")),
)
RESPIRATORY_RATE = _amount(
    "respiratory rate",
    "RR",
    "vitals",
    (12, 18),
    "breathing",
    Form(unit="breaths per minute", texts=(" breaths per minute", "/min", " per minute")),
)
SPO2 = _amount("oxygen saturation|SpO2", "SpO2|sat", "vitals", (96, 99), "saturation", Form(unit="%", texts=_PERCENT))
COMA_SCORE = _amount("Glasgow Coma Score|GCS", "GCS", "vitals", (15, 15), "mind", Form(unit="", texts=("",)))
WEIGHT = _amount(
    "weight|body weight",
    "Wt",
    "vitals",
    (58, 92),
    "body",
    Form(unit="kg", texts=(" kg",), digits=1),
    Form(unit="kg", texts=(" kg",)),
    Form(unit="lbs", texts=(" lb", " lbs", " pounds"), factor=1 / 0.45359237, exact=False, system="us"),
)
HEIGHT = _amount(
    "height",
    "Ht",
    "vitals",
    (162, 179),
    "body",
    Form(unit="cm", texts=(" cm",)),
    Form(unit="m", texts=(" m",), digits=2, factor=0.01),
    Form(unit="in", texts=(" inches", " in"), factor=1 / 2.54, exact=False, system="us"),
    Form(unit="ft in", texts=("",), factor=1 / 2.54, exact=False, system="us"),
)
BMI = _amount(
    "body mass index|BMI", "BMI", "vitals", (21, 24), "body", Form(unit="kg/m^2", texts=(" kg/m²", " kg/m2"), digits=1)
)
PAO2 = _gas("PaO2|arterial oxygen pressure (PaO2)", "PaO2", (80, 98))
PACO2 = _gas("PaCO2|arterial carbon dioxide pressure (PaCO2)", "PaCO2", (36, 44))
AA_GRADIENT = _amount(
    "A-a gradient|alveolar-arterial oxygen gradient", "A-a gradient", "gas", (8, 18), "gas",
    Form(unit="mm Hg", texts=_MM_HG),
)  # fmt: skip
FIO2 = _amount(
    "FiO2|inspired oxygen fraction (FiO2)",
    "FiO2",
    "gas",
    (21, 21),
    "gas",
    Form(unit="%", texts=_PERCENT),
    Form(unit="fraction", texts=("",), digits=2, factor=0.01),
)
PH = _amount("pH|arterial pH", "pH", "gas", (7.37, 7.43), "gas", Form(unit="", texts=("",), digits=2))
QT = _amount(
    "QT interval|uncorrected QT interval",
    "QT",
    "vitals",
    (360, 420),
    "ecg",
    Form(unit="msec", texts=(" ms", " msec", " milliseconds")),
    Form(unit="s", texts=(" s", " seconds"), digits=3, factor=0.001),
)

SODIUM = _ion("sodium|serum sodium", "Na", (137, 143), "sodium")
POTASSIUM = _ion("potassium|serum potassium", "K", (3.8, 4.6), "potassium", 1)
CHLORIDE = _ion("chloride|serum chloride", "Cl", (99, 105), "chloride")
BICARBONATE = _ion("bicarbonate|serum bicarbonate", "HCO3", (23, 27), "bicarbonate")
CALCIUM = _amount(
    "total calcium|serum calcium",
    "Ca",
    "labs",
    (9.0, 9.9),
    "calcium",
    Form(unit="mg/dL", texts=(" mg/dL",), digits=1, system="us"),
    Form(unit="mmol/L", texts=(" mmol/L",), digits=2, factor=10 / 40.08, exact=False, system="si"),
)
ALBUMIN = _amount(
    "albumin|serum albumin",
    "Alb",
    "labs",
    (3.8, 4.6),
    "albumin",
    Form(unit="g/dL", texts=(" g/dL",), digits=1, system="us"),
    Form(unit="g/L", texts=(" g/L",), factor=10, system="si"),
)
CREATININE = _amount(
    "creatinine|serum creatinine",
    "Cr|creat",
    "labs",
    (0.72, 1.0),
    "kidney",
    Form(unit="mg/dL", texts=(" mg/dL",), digits=2, system="us"),
    Form(unit="mg/dL", texts=(" mg/dL",), digits=1, system="us"),
    Form(unit="µmol/L", texts=(" µmol/L",), factor=10_000 / 113.12, exact=False, system="si"),
)
# For tables whose classes are printed with one decimal: between 1.9 and 2.0 they say nothing.
COARSE_CREATININE = replace(CREATININE, forms=tuple(form for form in CREATININE.forms if form.digits != 2))
BUN = _amount(
    "blood urea nitrogen|BUN",
    "BUN",
    "labs",
    (9, 17),
    "kidney",
    Form(unit="mg/dL", texts=(" mg/dL",), system="us"),
    Form(
        unit="mmol/L",
        texts=(" mmol/L",),
        digits=1,
        factor=10 / 28.02,
        exact=False,
        system="si",
        names=("urea", "serum urea"),
        short=("urea",),
    ),
)
GLUCOSE = _amount(
    "glucose|plasma glucose",
    "Glu",
    "labs",
    (84, 104),
    "sugar",
    Form(unit="mg/dL", texts=(" mg/dL",), system="us"),
    Form(unit="mmol/L", texts=(" mmol/L",), digits=1, factor=10 / 180.16, exact=False, system="si"),
)
BILIRUBIN = _amount(
    "total bilirubin|bilirubin",
    "Bili",
    "labs",
    (0.4, 0.9),
    "liver",
    Form(unit="mg/dL", texts=(" mg/dL",), digits=1, system="us"),
    Form(unit="µmol/L", texts=(" µmol/L",), factor=10_000 / 584.66, exact=False, system="si"),
)
AST = _amount(
    "aspartate aminotransferase|AST", "AST", "labs", (16, 32), "liver", Form(unit="U/L", texts=(" U/L", " IU/L"))
)
ALT = _amount(
    "alanine aminotransferase|ALT", "ALT", "labs", (14, 34), "liver", Form(unit="U/L", texts=(" U/L", " IU/L"))
)
INR = _amount("INR|international normalized ratio", "INR", "labs", (0.9, 1.1), "clotting",
              Form(unit="", texts=("",), digits=1), Form(unit="", texts=("",), digits=2))  # fmt: skip
HEMOGLOBIN = _amount(
    "hemoglobin|haemoglobin",
    "Hb",
    "labs",
    (13.2, 15.2),
    "red",
    Form(unit="g/dL", texts=(" g/dL",), digits=1, system="us"),
    Form(unit="g/L", texts=(" g/L",), factor=10, system="si"),
)
HEMATOCRIT = _amount(
    "hematocrit|haematocrit",
    "Hct",
    "labs",
    (40, 45),
    "red",
    Form(unit="%", texts=_PERCENT),
    Form(unit="L/L", texts=(" L/L",), digits=2, factor=0.01, system="si"),
)
PLATELETS = _count("platelets|platelet count", "Plt", (170, 330), "platelets", 0, 1000)
WHITE_CELLS = _count("white cell count|white blood cells", "WBC", (5.1, 9.4), "white", 1, 100)
CHOLESTEROL = _lipid("total cholesterol", "TC", (165, 205), 10 / 386.654)
HDL = _lipid("HDL cholesterol|high-density lipoprotein cholesterol", "HDL", (44, 62), 10 / 386.654)
TRIGLYCERIDES = _lipid("triglycerides", "TG", (85, 160), 10 / 885.7)
INSULIN = _amount(
    "fasting insulin|insulin (fasting)",
    "fasting insulin",
    "labs",
    (4, 12),
    "sugar",
    Form(unit="µIU/mL", texts=(" µIU/mL", " µU/mL"), digits=1, system="us"),
    Form(unit="mIU/L", texts=(" mIU/L", " mU/L"), digits=1),
)  # laboratories do not agree on what 1 µIU/mL is in pmol/L
URINE_SODIUM = _ion("urine sodium|urinary sodium", "urine Na|UNa", (40, 120), "kidney")
URINE_CREATININE = _amount(
    "urine creatinine|urinary creatinine",
    "urine Cr|UCr",
    "labs",
    (60, 160),
    "kidney",
    Form(unit="mg/dL", texts=(" mg/dL",), system="us"),
    Form(unit="mmol/L", texts=(" mmol/L",), digits=1, factor=10 / 113.12, exact=False, system="si"),
)
URINE_OUTPUT = _amount(
    "urine output",
    "UO",
    "vitals",
    (1200, 2100),
    "kidney",
    Form(unit="mL/day", texts=(" mL/day", " mL in 24 hours", " mL/24 h"), step=10),
    Form(unit="L/day", texts=(" L/day", " L in 24 hours"), digits=2, factor=0.001),
)

BACKGROUND_VITALS = (TEMPERATURE, HEART_RATE, RESPIRATORY_RATE, SPO2, WEIGHT, HEIGHT)
"""Bedside values that a note may state by the way, when the calculator does not ask for them."""

BACKGROUND_LABS = (
    SODIUM, POTASSIUM, CHLORIDE, BICARBONATE, CALCIUM, ALBUMIN, CREATININE, BUN, GLUCOSE, BILIRUBIN, AST, ALT, INR,
    HEMOGLOBIN, HEMATOCRIT, PLATELETS, WHITE_CELLS, CHOLESTEROL, HDL,
    _amount("C-reactive protein|CRP", "CRP", "labs", (1, 9), "infection", Form(unit="mg/L", texts=(" mg/L",))),
    _amount("magnesium", "Mg", "labs", (1.8, 2.3), "", Form(unit="mg/dL", texts=(" mg/dL",), digits=1, system="us"),
            Form(unit="mmol/L", texts=(" mmol/L",), digits=2, factor=10 / 24.305, system="si")),
    _amount("TSH", "TSH", "labs", (0.8, 3.6), "", Form(unit="mIU/L", texts=(" mIU/L",), digits=1)),
    _amount("ferritin", "ferritin", "labs", (45, 190), "", Form(unit="ng/mL", texts=(" ng/mL",), system="us"),
            Form(unit="µg/L", texts=(" µg/L",), system="si")),
    _amount("alkaline phosphatase", "ALP", "labs", (48, 105), "liver", Form(unit="U/L", texts=(" U/L",))),
    _amount("lipase", "lipase", "labs", (18, 52), "", Form(unit="U/L", texts=(" U/L",))),
)  # fmt: skip
"""Laboratory values that a note may state by the way."""
