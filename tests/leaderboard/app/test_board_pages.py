"""The tables of a task, of all benchmarks, and of papers."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from medical_tasks.leaderboard.app.parts import metrics_of, task_order
from medical_tasks.leaderboard.app.tables import overall_page, task_page
from medical_tasks.leaderboard.ranking import HEADLINES
from tests.leaderboard.app.page_samples import HOSTILE, board, entry, number, reported, submission


class Cells(HTMLParser):
    """Rows of the tables in a page, each a list of its cells' texts, by the table's id."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] | None = None
        self._in_cell = False
        self.tags: list[str] = []
        self.feed(str(html))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "table":
            self._rows = self.tables.setdefault(str(dict(attrs)["id"]), [])
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in ("td", "th") and self._rows is not None:
            self._rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell and self._rows:
            self._rows[-1][-1] += data


def rows(html: str, table: str) -> list[list[str]]:
    return Cells(html).tables[table][1:]


def test_ranks_are_ranges_and_the_metric_decides_the_order() -> None:
    # Intervals: 0.85-0.95, 0.80-0.90 and 0.35-0.45: the first two overlap, the third lies below both.
    html = task_page(board(entry("B", 0.85), entry("A", 0.9), entry("C", 0.4)), "medcalc")
    assert [row[:2] for row in rows(html, "board-0")] == [["1-2", "A"], ["1-2", "B"], ["3", "C"]]
    assert [row[2] for row in rows(html, "board-0")] == [
        "90.0 %85.0 to 95.0",
        "85.0 %80.0 to 90.0",
        "40.0 %35.0 to 45.0",
    ]
    assert {row[4] for row in rows(html, "board-0")} == {"98/100"}
    a = entry("A", 0.9, metrics={"accuracy": number(0.9), "accuracy_official": number(0.1)})
    b = entry("B", 0.5, metrics={"accuracy": number(0.5), "accuracy_official": number(0.6)})
    assert [row[1] for row in rows(task_page(board(a, b), "medcalc"), "board-0")] == ["A", "B"]
    by = task_page(board(a, b), "medcalc", metric="accuracy_official")
    assert [row[1] for row in rows(by, "board-0")] == ["B", "A"]
    assert "accuracy_official</strong>: The authors&#x27; decision" in by
    # A metric there is not is the headline.
    assert task_page(board(a, b), "medcalc", metric="'; --") == task_page(board(a, b), "medcalc")


def test_groups_are_never_ranked_together() -> None:
    ours = [entry("A", 0.9), entry("B", 0.5)]
    other = entry("Other", 0.99, recipe={"prompts": {"set": "official", "sha256": "cd" * 32}})
    assert other.group != ours[0].group
    html = task_page(board(*ours, other), "medcalc")
    assert [row[1] for row in rows(html, "board-0")] == ["A", "B"]
    assert "numbers of different groups are never ranked together; 1 entries are in groups not shown here" in html
    alone = task_page(board(*ours, other), "medcalc", group=other.group)
    assert [row[:2] for row in rows(alone, "board-0")] == [["1", "Other"]]
    every = task_page(board(*ours, other), "medcalc", group="all")
    assert [row[0] for row in rows(every, "board-0")] == ["1", "2"]
    assert [row[0] for row in rows(every, "board-1")] == ["1"]


def test_what_papers_report_has_no_rank_and_says_how_it_differs() -> None:
    html = task_page(board(entry("A", 0.5), reported("GPT-4", 0.379)), "medcalc")
    assert [row[1] for row in rows(html, "board-0")] == ["A"]
    (row,) = rows(html, "board-reported")
    assert row[:2] == ["GPT-4", "37.9 %no interval reported"]
    assert "reported" in row
    assert row[-1] == "2 differencesThe authors' script decided.Other prompts."
    assert 'href="https://example.org/paper"' in html
    # Where nothing was submitted, papers stand alone.
    alone = task_page(board(reported("GPT-4", 0.379)), "medcalc")
    assert "No submission of this task was accepted yet." in alone
    assert list(Cells(alone).tables) == ["board-reported"]


def test_an_entry_that_is_not_ranked_says_why() -> None:
    marked = entry("Marked", 0.9, differences=("Only 95.0 % of the items have a score.",))
    html = task_page(board(marked, entry("A", 0.5)), "medcalc")
    assert [row[:2] for row in rows(html, "board-0")] == [["1", "A"], ["n/a", "Marked"]]
    assert "Not ranked: Only 95.0 % of the items have a score." in html
    judge = {"name": "lexical", "comparable": False, "votes": 1}
    metrics = {"comprehensiveness": number(0.9, comparable=False)}
    html = task_page(board(entry("A", 0.9, task="kqa", metrics=metrics, recipe={"judge": judge})), "kqa")
    assert "<strong>Not comparable: the judge lexical compares words" in html
    assert "[not comparable]" in html
    assert rows(html, "board-0")[0][0] == "n/a"
    empty = {"value": None, "ci_low": None, "ci_high": None, "n": 0}
    html = task_page(board(entry("A", 0.5, metrics={"accuracy": empty}, coverage={"asked": 0, "scored": 0})), "medcalc")
    (row,) = rows(html, "board-0")
    assert (row[0], row[2], row[4]) == ("n/a", "n/a", "0/0")


def test_open_weights_are_a_tag_and_unsaid_is_not_no() -> None:
    said = [(True, "yes"), (False, "no"), (None, "not said")]
    entries = [entry(f"M{place}", 0.5) for place in range(3)]
    known = tuple(
        submission(one.submission, one.model, open_weights=value) for one, (value, _) in zip(entries, said, strict=True)
    )
    html = task_page(board(*entries, submissions=known), "medcalc")
    assert sorted(row[7] for row in rows(html, "board-0")) == sorted(word for _, word in said)
    assert len(re.findall('data-tags="open"', html)) == 1


def test_texts_of_submitters_are_texts() -> None:
    mine = entry(HOSTILE, 0.5, organisation=HOSTILE, setting=HOSTILE, url="javascript:alert(1)")
    html = task_page(board(mine, reported(HOSTILE, 0.5)), "medcalc")
    assert "<img" not in html
    assert "onerror=alert(1)&gt;" in html
    assert not {"img", "script", "iframe"} & set(Cells(html).tags)
    assert "\u2028" not in html
    assert 'href="javascript' not in html


def test_a_task_without_results_says_so_and_unknown_ones_come_last() -> None:
    for task in ("", "nothing", "medcalc"):
        assert "No results of this task yet." in task_page(board(), task)
    assert task_order(["zz", "kqa", "medcalc", "aa"]) == ["medcalc", "kqa", "aa", "zz"]
    assert metrics_of("zz", [entry("A", 0.5)]) == []


def _everywhere(model: str, value: float, headlines: int = len(HEADLINES)) -> list[object]:
    return [
        entry(model, value, task=one.task, metrics={one.metric: number(value, 0.02)}) for one in HEADLINES[:headlines]
    ]


def test_the_overall_table_ranks_complete_models_and_names_what_is_missing() -> None:
    entries = [*_everywhere("Whole", 0.6), *_everywhere("Better", 0.8), *_everywhere("Half", 0.99, 2)]
    html = overall_page(board(*entries))  # type: ignore[arg-type]
    found = rows(html, "board-overall")
    assert [row[:2] for row in found] == [["1", "Better"], ["2", "Whole"], ["n/a", "Half"]]
    assert found[0][2].startswith("80.0")
    # Half of five benchmarks: no mean at all.
    assert found[2][2] == "n/a"
    assert found[2][-2] == ", ".join(one.benchmark for one in HEADLINES[2:])
    assert "No submission was accepted yet." in overall_page(board())


def test_very_many_entries_get_columns_of_set_widths() -> None:
    few, many = ([entry(f"M{n}", 0.5) for n in range(count)] for count in (200, 201))
    assert "mtl-many" not in task_page(board(*few), "medcalc")
    html = task_page(board(*many), "medcalc")
    assert "mtl-many" in html
    assert len(rows(html, "board-0")) == 201
