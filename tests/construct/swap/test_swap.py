"""`swap`: one attribute changes, nothing else, and all its values have the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import medical_tasks as mt
from medical_tasks.catalog import dataset_spec
from medical_tasks.cli import main
from medical_tasks.construct.swap.texts import (
    ATTRIBUTES,
    OTHER_SEX,
    Refusal,
    Sex,
    change,
    changed_words,
    check_texts,
    patient_sex,
)
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.errors import UsageError
from tests.case_tables import json_of

# A text and its counterpart, written by hand: the first column is of a woman.
COUNTERPARTS = [
    (
        "A 58-year-old woman with CHF. She rests.",
        "A 58-year-old man with CHF. He rests.",
    ),
    ("Sex: F\nMs. ___ took her pills.", "Sex: M\nMr. ___ took his pills."),
    (
        "72F, seen today. We saw her in clinic.",
        "72M, seen today. We saw him in clinic.",
    ),
    ("She hurt herself; the cane is hers.", "He hurt himself; the cane is his."),
    ("SHE IS A PLEASANT LADY.", "HE IS A PLEASANT GENTLEMAN."),
    ("hi , margaret , how is she ?", "hi , andrew , how is he ?"),
    # The father is another person, and stays; `her` refers to the patient.
    ("She is well. Her father coughs.", "He is well. His father coughs."),
    # A surname is no given name.
    ("She saw Dr. James for her back.", "He saw Dr. James for his back."),
    ("Gave her the results and her cane.", "Gave him the results and his cane."),
]


@pytest.mark.parametrize(("female", "male"), COUNTERPARTS)
def test_words_of_the_patients_sex_have_counterparts(female: str, male: str) -> None:
    assert check_texts("sex", [female]) == "female"
    assert change(female, "sex", "male", "female") == male
    assert change(female, "sex", "female", "female") == female
    assert changed_words(female, male)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Seen in clinic, feels well.", "sex not plain"),
        ("He is well. She is not.", "sex not plain"),
        ("A 30-year-old woman, G2P1.", "a condition, organ or test of one sex"),
        ("She is well. Her mother says she is tired.", "a relative of the same sex"),
        ("She is well. Her girl has a cough.", "somebody else of the same sex"),
        ("A 50-year-old man. Another man fell.", "somebody else of the same sex"),
        ("He lives alone. The nurse says he fell.", "staff before a pronoun"),
        ("She lives with her husband.", "a partner"),
        (
            "Rosalind is a 40-year-old woman.",
            "a given name without a known counterpart",
        ),
        ("hi wayne , he coughs .", "a given name without a known counterpart"),
    ],
)
def test_texts_that_need_a_guess_are_left_out(text: str, reason: str) -> None:
    assert check_texts("sex", [text]) == Refusal(reason)


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ("insurance", "He has Medicaid."),
        ("ethnicity", "A Hispanic man."),
        ("language", "Spanish-speaking man."),
        ("housing", "He lives alone."),
        ("name", "Mr. Perez is well."),
    ],
)
def test_a_text_that_states_the_attribute_itself_is_left_out(
    attribute: str, text: str
) -> None:
    assert check_texts(attribute, [text]) == Refusal(
        f"{attribute} is in the text itself"
    )


WORDS = st.sampled_from(
    "she her hers herself he his him woman man the cough of and. Ms. Dr. margaret 58F".split()
)


@given(st.lists(WORDS, max_size=20).map(" ".join))
def test_only_words_of_the_sex_change(text: str) -> None:
    sex = check_texts("sex", [text])
    if sex is None or isinstance(sex, Refusal):
        return
    other: Sex = OTHER_SEX[sex]
    new = change(text, "sex", other, sex)
    changed_words(text, new)  # raises where any other word differs
    assert patient_sex([new]) == other


def test_other_changed_words_are_detected() -> None:
    with pytest.raises(ValueError, match="a swap changed other words too"):
        changed_words("She coughs.", "He wheezes.")
    with pytest.raises(ValueError, match="a swap changed other words too"):
        changed_words("She coughs.", "He coughs. ")


def test_both_arms_have_the_same_rows_and_can_be_compared(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mt.build("ehrnoteqa", config="demo")
    spec = dataset_spec("ehrnoteqa")
    ids = []
    for value in ATTRIBUTES["insurance"][:2]:
        swapped = mt.swap("ehrnoteqa", f"insurance={value}", config="demo", out=value)
        rows = read_rows(swapped.folder, "demo", "test", spec=spec)
        assert swapped.rows == swapped.changed == len(rows) > 0
        assert all(
            note["text"].startswith(
                f"Insurance: {value.title() * (value != 'private')}"
            )
            or value == "private"
            for row in rows
            for note in row["notes"]
        )
        ids.append([row["id"] for row in rows])
        card = (swapped.folder / "README.md").read_text(encoding="utf-8")
        assert f"insurance is {value} in every row" in card
        mt.run(
            "ehrnoteqa_mc_level1",
            model="baseline/reference",
            data=swapped.folder,
            config="demo",
            out=f"runs/{value}",
        )
    assert ids[0] == ids[1]
    entry = json_of(here / "runs/private/results.json")["tasks"]["ehrnoteqa_mc_level1"]
    swap = entry["recipe"]["data"]["swap"]
    assert (swap["changed"], swap["rules"]) == ("insurance=private", "1")
    assert swap["left_out"] == sum(swapped.left_out.values()) > 0
    assert not entry["paper"]["comparable"]
    assert any("the patients were changed" in why for why in entry["paper"]["why"])
    assert (
        main(["compare", *(f"runs/{value}" for value in ATTRIBUTES["insurance"][:2])])
        == 0
    )
    shown = capsys.readouterr()
    assert "the notes differ on purpose" in shown.out + shown.err
    mt.run(
        "ehrnoteqa_mc_level1",
        model="baseline/reference",
        config="demo",
        out="runs/plain",
    )
    assert main(["compare", "runs/private", "runs/plain"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ehrnoteqa hair=red --out o", "unknown attribute. Attributes: sex, name"),
        ("ehrnoteqa sex=x --out o", "unknown value. Values of sex: female, male."),
        (
            "medcalc_bench sex=male --out o",
            "none of its columns is declared to be about a patient",
        ),
    ],
)
def test_wrong_use(
    words: str, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["swap", *words.split(), "--config", "demo"]) == 2
    assert message in capsys.readouterr().err


def test_a_swap_of_a_swap_is_refused(here: Path) -> None:
    mt.build("ehrnoteqa", config="demo")
    swapped = mt.swap("ehrnoteqa", "housing=housed", config="demo", out="housed")
    with pytest.raises(UsageError, match="holds ehrnoteqa with housing=housed already"):
        mt.swap("ehrnoteqa", "sex=male", data=swapped.folder, config="demo", out="o")
