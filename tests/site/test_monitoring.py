"""`site monitor`: looks at the gated model, their verdicts, and looks that are refused."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from medical_tasks.cli import main
from medical_tasks.errors import IncompleteError, MissingError, UsageError
from medical_tasks.site import monitoring
from medical_tasks.site.folder import Site
from medical_tasks.site.history import history, verified
from medical_tasks.site.monitoring import CHANGED, SAME_OR_BETTER, WORSE, by_cluster
from medical_tasks.site.options import Monitor
from tests.run_files import edited_entry
from tests.site.site_cases import gated, make_site, score


@pytest.fixture
def site(home: Path, tmp_path: Path) -> Site:
    new_site = make_site(tmp_path / "site", home, wrong={"candidate": (3, 4)})
    return gated(new_site)


def look(site: Site, run: Path, looks: int | None = None) -> int:
    return monitoring.run(
        Monitor(step="monitor", folder=site.path, run=run, looks=looks)
    )


def served(run: Path, *names: str, model: str = "openai-api/local/new") -> Path:
    """Changes the results as if a server had answered that named these models."""
    with edited_entry(run, "medcalc") as entry:
        entry["recipe"]["model"] = {"name": model}
        entry["usage"] = {"served_models": dict.fromkeys(names, 80)}
    return run


def test_an_unchanged_look_and_a_worse_one_with_interval_and_date(
    site: Site, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(5)
    same = score(home, home / "same", (3, 9))
    capsys.readouterr()
    assert look(site, same) == SAME_OR_BETTER
    assert "accuracy: the same; against the gated run 0.0" in capsys.readouterr().out
    worse = score(home, home / "worse", chance.sample(range(80), 24))
    capsys.readouterr()
    assert look(site, worse) == WORSE
    output = capsys.readouterr().out
    assert "accuracy: worse by -27.5" in output
    assert "since look 2" in output
    assert "not worse by more than 15.0: not shown" in output

    first, second = (line for line in history(site.gates) if line.kind == "look")
    assert first.content["verdict"] == "same"
    assert first.content["measures"]["accuracy"]["within_margin"]
    measure = second.content["measures"]["accuracy"]
    assert measure["gated"]["difference"] == pytest.approx(-22 / 80)
    # 24 wrong, compared with 2 and 2 of 80.
    assert measure["change"]["difference"] == pytest.approx(-24 / 80 + 2 / 80)
    assert (
        measure["change"]["ci_low"] < -0.2 < -0.1 < measure["change"]["ci_high"] + 0.1
    )
    assert second.content["spent"] == pytest.approx(2 * 0.05 / 12)
    assert verified(site.gates).sound
    # The look has its own copy of the run.
    kept = site.path / second.content["run"] / "items.parquet"
    assert kept.read_bytes() == (worse / "items.parquet").read_bytes()


def test_a_better_run_is_no_alarm(home: Path) -> None:
    many = tuple(range(30))
    poor = make_site(home / "poor", home, wrong={"candidate": many})
    gated(poor)
    assert look(poor, score(home, home / "good")) == SAME_OR_BETTER
    assert history(poor.gates)[-1].content["verdict"] == "better"


def test_another_fingerprint_is_another_served_model(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = make_site(tmp_path / "prints", home, wrong={"candidate": (3, 4)})
    served(site.runs / "candidate", "m fp_1", "m fp_2")
    gated(site)
    fewer = served(score(home, home / "fewer", (5,)), "m fp_2")
    assert look(site, fewer) == SAME_OR_BETTER
    capsys.readouterr()
    new = served(score(home, home / "new", (6,)), "m fp_2", "m fp_3")
    assert look(site, new) == CHANGED
    assert "served m fp_1, m fp_2 and m fp_2, m fp_3" in capsys.readouterr().out


def test_another_served_model_is_named_and_compared(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = make_site(tmp_path / "served", home, wrong={"candidate": (3, 4)})
    served(site.runs / "candidate", "new-2026-01-01")
    gated(site)
    again = served(score(home, home / "again", (5,)), "new-2026-01-01")
    assert look(site, again) == SAME_OR_BETTER
    other = served(score(home, home / "other", (6,)), "new-2026-06-01")
    capsys.readouterr()
    assert look(site, other) == CHANGED
    output = capsys.readouterr().out
    assert "served new-2026-01-01 and new-2026-06-01" in output
    assert "accuracy: the same" in output
    bad = served(score(home, home / "bad", range(40)), "new-2026-06-01")
    assert look(site, bad) == WORSE
    another = served(
        score(home, home / "another", (7,)), "x", model="openai-api/local/other"
    )
    with pytest.raises(UsageError, match=r"answers of openai-api/local/other"):
        look(site, another)


def test_looks_that_are_refused(site: Site, home: Path) -> None:
    run = score(home, home / "run", (1,))
    assert look(site, run, looks=2) == SAME_OR_BETTER
    with pytest.raises(UsageError, match="same items with the same scores"):
        look(site, run, looks=2)
    other_rows = score(home, home / "short", (2,))
    with edited_entry(other_rows, "medcalc") as entry:
        entry["recipe"]["data"]["rows_sha256"] = "0" * 64
    with pytest.raises(UsageError, match="not the test that was gated"):
        look(site, other_rows, looks=2)
    assert len(list(site.monitor.iterdir())) == 1  # refused runs are not copied
    assert len([line for line in history(site.gates) if line.kind == "look"]) == 1

    assert look(site, score(home, home / "second", (8,)), looks=2) == SAME_OR_BETTER
    with pytest.raises(UsageError, match="planned looks at this model are used up"):
        look(site, score(home, home / "third", (9,)), looks=2)
    # Further looks have no alpha left to spend.
    with pytest.raises(UsageError, match="2 planned looks at this model are used up"):
        look(site, home / "third", looks=4)


def test_missing_answers_are_not_the_same(
    site: Site, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (home / "runs-candidate.jsonl").read_text(encoding="utf-8").splitlines()
    for name, count in (("few", 75), ("enough", 76)):
        file = home / f"{name}.jsonl"
        file.write_text("\n".join(rows[:count]), encoding="utf-8")
        line = ["score", "medcalc", "--responses", str(file), "--config", "fresh"]
        line += ["--data", str(home / "data"), "--out", str(home / name)]
        assert main(line) == 0
    with pytest.raises(IncompleteError, match="75 of the 80 items"):
        look(site, home / "few")
    assert history(site.gates)[-1].kind == "gate"
    capsys.readouterr()
    assert look(site, home / "enough") == SAME_OR_BETTER
    assert "76 items;" in capsys.readouterr().out
    assert history(site.gates)[-1].content["n"] == 76


def test_a_judge_that_compares_words_decides_nothing(
    site: Site, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [site.runs / "candidate", score(home, home / "words", (3, 9))]
    for run in runs:
        with edited_entry(run, "medcalc") as entry:
            entry["recipe"]["judge"] = {"name": "lexical", "comparable": False}
    capsys.readouterr()
    assert look(site, runs[1]) == SAME_OR_BETTER
    assert "Nothing is decided by a judge by words" in capsys.readouterr().out


def test_more_looks_may_be_planned_before_the_last(site: Site, home: Path) -> None:
    for name, wrong, looks in (("one", 8, 2), ("two", 9, 4), ("three", 10, 4)):
        run = score(home, home / name, (wrong,))
        assert look(site, run, looks=looks) == SAME_OR_BETTER
    lines = [line for line in history(site.gates) if line.kind == "look"]
    assert [line.content["spent"] for line in lines] == pytest.approx(
        [0.025, 0.025 + 0.025 / 3, 0.025 + 0.05 / 3]
    )
    (site.path / lines[0].content["run"] / "items.parquet").unlink()
    with pytest.raises(MissingError, match="is gone or was changed"):
        look(site, score(home, home / "fourth", (10,)), looks=4)


def test_a_site_without_a_gate_cannot_be_monitored(home: Path, tmp_path: Path) -> None:
    site = make_site(tmp_path / "site", home)
    run = score(home, home / "ungated", (1,))
    with pytest.raises(MissingError, match="no gate in it"):
        look(site, run)
    gated(site)
    score(home, site.runs / "candidate", (1, 2, 3))
    with pytest.raises(UsageError, match="not those of the last gate"):
        look(site, run)


def test_items_of_a_cluster_are_summed_without_those_that_a_run_lacks() -> None:
    sums = np.array(
        [
            [[1.0, 0.0, 1.0, 1.0], [1.0] * 4],
            [[0.0, 1.0, np.nan, 1.0], [1.0, 1.0, np.nan, 1.0]],
        ]
    )
    assert by_cluster(sums, ["a", "a", "b", "c"]).tolist() == [
        [[1.0, 1.0], [2.0, 1.0]],
        [[1.0, 1.0], [2.0, 1.0]],
    ]
    assert by_cluster(sums, None).shape == (2, 2, 3)
