"""What is wrong with the data file is told with its place."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from medical_tasks.report.published.figures import read_figures

FILE: dict[str, Any] = {
    "about": "",
    "beside": {"accuracy_official": "accuracy", "other_official": "other"},
    "differences": {"asked": "It was asked otherwise.", "counted": "It was counted otherwise."},
    "tables": [
        {
            "source": "Paper, table 1",
            "link": "https://example.org/1",
            "judge": "Somebody",
            "n_items": 10,
            "differences": ["asked"],
            "columns": [
                {"metric": "accuracy_official"},
                {"metric": "accuracy_official", "by": "kind", "group": "a"},
                {"metric": "bleu", "scale": 1},
            ],
            "rows": [
                {"task": "t", "model": "M", "setting": "7B", "values": [12.34, 100, None], "differences": ["counted"]},
                {"task": "t", "model": "N", "n_items": None, "values": [0, None, 0.0589]},
            ],
        }
    ],
}


def test_a_row_is_read_with_what_its_table_says() -> None:
    first, second = read_figures(json.dumps(FILE))
    assert (first.model, first.setting, first.task) == ("M", "7B", "t")
    assert (first.source, first.link, first.judge) == ("Paper, table 1", "https://example.org/1", "Somebody")
    assert first.metrics == {"accuracy_official": 0.1234}
    assert first.breakdown == {"kind": {"a": {"accuracy_official": 1.0}}}
    assert first.beside == {"accuracy_official": "accuracy"}
    assert first.differences == ("It was asked otherwise.", "It was counted otherwise.")
    assert (first.n_items, second.n_items) == (10, None)
    assert second.metrics == {"accuracy_official": 0.0, "bleu": 0.0589}
    assert (second.setting, second.breakdown) == ("", {})


def _table(content: dict[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = content["tables"][0]
    return table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.update(more=1), "the file: unknown more; known are about, beside"),
        (lambda file: _table(file).update(page=3), "Paper, table 1: unknown page"),
        (lambda file: _table(file)["rows"][0].update(size=7), "Paper, table 1, t, M: unknown size"),
        (lambda file: _table(file)["columns"][0].update(unit="%"), "Paper, table 1, t, M: unknown unit"),
        (lambda file: _table(file).update(link="http://example.org"), "the link is not https: 'http://example.org'"),
        (lambda file: _table(file)["rows"][0].update(values=[1]), "t, M: 1 values for 3 columns"),
        (
            lambda file: _table(file)["rows"][0].update(values=[100.1, 1, 1]),
            "t, M: 100.1 does not lie between 0 and 100",
        ),
        (lambda file: _table(file)["rows"][0].update(values=[-1, 1, 1]), "-1 does not lie between 0 and 100"),
        (lambda file: _table(file)["rows"][1].update(values=[1, 1, 5.89]), "t, N: 5.89 does not lie between 0 and 1"),
        (lambda file: _table(file)["rows"][0].update(values=["12", 1, 1]), "'12' is no figure"),
        (lambda file: _table(file)["rows"][0].update(values=[True, 1, 1]), "True is no figure"),
        (lambda file: _table(file)["rows"][0].update(values=[float("nan"), 1, 1]), "nan is no figure"),
        (lambda file: _table(file)["rows"][0].update(values=[None, 1, None]), "t, M: no figure"),
        (lambda file: _table(file)["rows"][0].update(differences=["told"]), "no such difference: told"),
        (lambda file: _table(file)["rows"][0].pop("differences"), "differences: counted belong to no row"),
        (lambda file: _table(file).update(n_items=0), "n_items is 0, neither a count nor null"),
        (lambda file: _table(file)["rows"][1].update(n_items=1.5), "n_items is 1.5"),
        (
            lambda file: _table(file)["columns"][2].update(metric="accuracy_official"),
            "two columns are accuracy_official",
        ),
        (
            lambda file: _table(file)["rows"][1].update(model="M", setting="7B"),
            "Paper, table 1, t, M, 7B: stands there twice",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: Any, message: str) -> None:
    wrong = copy.deepcopy(FILE)
    change(wrong)
    with pytest.raises(ValueError, match=message):
        read_figures(json.dumps(wrong))
