from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from medical_tasks.benchmarks.kqa.annotations import ANNOTATIONS_FILE, find_annotations, read_annotations
from medical_tasks.errors import MissingError, UsageError
from tests.benchmarks.kqa.physicians_csv import rows, write
from tests.support import SHARED, needs_shared


def test_a_row_as_it_is_read(tmp_path: Path) -> None:
    found = read_annotations(write(tmp_path / "labels.csv", rows()))
    assert len(found) == 10
    entry = found[1]
    assert entry.question == "What helps against complaint 0?"
    assert entry.answer.startswith("Rest helps against complaint 0.")
    assert entry.statement == "Remedy 1 helps against complaint 0 (EEN, judge N)"
    assert (entry.labels, entry.majority) == (("entailment", "entailment", "neutral"), "entailment")
    assert (entry.model, entry.importance) == ("model-a", "Nice_to_have")
    assert found[0].cluster == entry.cluster != found[3].cluster
    assert len({entry.id for entry in found}) == 10


def test_ids_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    there = read_annotations(write(tmp_path / "a.csv", rows()))
    back = read_annotations(write(tmp_path / "b.csv", rows()[::-1]))
    assert [entry.id for entry in there] == [entry.id for entry in back[::-1]]


def test_where_the_file_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="git clone https://github.com/Itaymanes/K-QA"):
        find_annotations(None)
    with pytest.raises(MissingError, match="no NLI_medical_annotator.csv in it"):
        find_annotations(tmp_path)
    with pytest.raises(MissingError, match="no such file or folder"):
        find_annotations(tmp_path / "nowhere")
    (tmp_path / "dataset").mkdir()
    path = write(tmp_path / "dataset" / ANNOTATIONS_FILE, rows())
    assert find_annotations(tmp_path) == find_annotations(tmp_path / "dataset") == find_annotations(path) == path


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("label_1", "Maybe", r"line 3, column 'label_1': must be Entailment, Neutral, Contradiction, got 'Maybe'"),
        ("majority_label", "Neutral", r"line 3, column 'majority_label': 'Neutral' is not what at least two"),
        (
            "label_0",
            "Contradiction",
            r"'majority_label': 'Entailment' is not .* \(Contradiction, Entailment, Neutral\)",
        ),
        ("category_x", "Optional", r"line 3, column 'category_x': must be Must_have or Nice_to_have, got 'Optional'"),
        ("claim", "  ", r"line 3, column 'claim': empty"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, column: str, value: str, message: str) -> None:
    made = rows()
    made[1][column] = value
    with pytest.raises(UsageError, match=message):
        read_annotations(write(tmp_path / "labels.csv", made))


def test_a_statement_twice_and_a_wrong_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rows 1 and 11 are the same statement"):
        read_annotations(write(tmp_path / "labels.csv", [*rows(), rows()[0]]))
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(UsageError, match="wrong columns for the K-QA physicians' labels"):
        read_annotations(other)


@pytest.mark.upstream
@needs_shared
def test_the_released_file() -> None:
    found = read_annotations(find_annotations(SHARED / "data" / "kqa"))
    assert len(found) == 399
    assert Counter(entry.majority for entry in found) == {"neutral": 234, "entailment": 153, "contradiction": 12}
    assert len({entry.cluster for entry in found}) == 50  # paper, section 4: 50 questions and answers
    assert sum(len(set(entry.labels)) == 1 for entry in found) == 312
    assert len({entry.id for entry in found}) == 399
