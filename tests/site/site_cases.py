"""A site's folder for tests, with finished runs on 80 invented rows."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from medical_tasks.cli import main
from medical_tasks.runs.results import read_items
from medical_tasks.site.deciding import run_hashes
from medical_tasks.site.folder import Site, begin, open_site
from medical_tasks.site.history import append

SETTINGS = """\
use = "calculator"
name = "St. Anywhere"
notes = "notes.csv"
open = true
strata = ["sex"]

[models]
candidate = "openai-api/local/new"
baseline = "{baseline}"

[decision]
preset = "standard"
margin = {margin}
{more}"""


def build_data(home: Path) -> Path:
    """The data of 80 fresh rows, and a run whose answers are all right."""
    data = home / "data"
    build = ["build", "medcalc_bench", "--config", "fresh", "--seed", "7", "--n", "80"]
    assert main([*build, "--out", str(data / "medcalc_bench")]) == 0
    run = ["run", "--tasks", "medcalc", "--config", "fresh", "--data", str(data)]
    gold = ["--model", "baseline/reference", "--out", str(home / "gold")]
    assert main([*run, *gold]) == 0
    return home


def score(home: Path, out: Path, wrong: Sequence[int] = (), **more: str) -> Path:
    """Scores answers that are right, except those with the numbers in `wrong`."""
    answers = []
    for number, row in enumerate(read_items(home / "gold")):
        text = "the answer is 987654" if number in wrong else row["parsed"]
        answers.append({"id": row["id"], "response": text})
    file = home / f"{out.parent.name}-{out.name}.jsonl"
    file.write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    line = ["score", "medcalc", "--responses", str(file), "--config", "fresh"]
    line += ["--data", str(home / "data"), "--out", str(out)]
    for name, value in more.items():
        line += [f"--{name.replace('_', '-')}", value]
    assert main(line) == 0
    return out


def make_site(
    folder: Path,
    home: Path,
    *,
    margin: float = 0.15,
    baseline: bool = True,
    wrong: Mapping[str, Sequence[int]] | None = None,
    more: str = "",
) -> Site:
    """A site with scored runs of candidate and baseline, and a sample of two sexes."""
    folder.mkdir()
    text = SETTINGS.format(
        baseline="openai-api/local/old" if baseline else "",
        margin=margin,
        more=more,
    )
    (folder / "site.toml").write_text(text, encoding="utf-8")
    begin(folder)
    site = open_site(folder)
    wrong_answers = {"candidate": (), "baseline": (0, 1), **(wrong or {})}
    for role in ("candidate", "baseline") if baseline else ("candidate",):
        score(home, site.runs / role, wrong_answers[role])
    chance = random.Random(3)
    rows = [
        f"{row['id']},{chance.choice(['female', 'male'])}"
        for row in read_items(site.runs / "candidate")
    ]
    site.sample.parent.mkdir()
    site.sample.write_text("\n".join(["id,sex", *rows]) + "\n", encoding="utf-8")
    return site


def gated(site: Site) -> Site:
    """Adds the line of a gate that the candidate passed, without evaluating it."""
    runs = {"runs/candidate": run_hashes(site.runs / "candidate")}
    append(site.gates, "gate", {"verdict": "GO", "runs": runs, "findings": []})
    return site
