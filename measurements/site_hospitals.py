"""Five synthetic hospitals, from their notes to the pooled result, each step killed once.

    python measurements/site_hospitals.py [FOLDER] [--calm]

Runs the commands of docs/hospital.md, and no others, as a person at a terminal would:
for each hospital those of the section "With a judge", then its line of `site pool`. The
hospitals differ in size, in case mix, and in how well their judge reads their models
(the seed decides these: `medical_tasks.site.demo`). Every command is killed once by
SIGKILL while it works, and run again; `--calm` kills nothing.

What the invented models truly are is known: right in 82 % (candidate) and 74 %
(baseline) of answers. At the end each hospital's share is searched for text of its
notes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from medical_tasks.guard.leakcheck import check_leaks
from medical_tasks.site.demo import RIGHT
from medical_tasks.site.folder import open_site

PAGE = Path(__file__).parents[1] / "docs" / "hospital.md"
NAME = "clinic"
HOSPITALS = (
    ("north", 60, 11),
    ("south", 90, 12),
    ("east", 130, 13),
    ("west", 180, 14),
    ("lake", 240, 15),
)
"""Name, patients, seed."""
BEGUN = {
    "new": "site.toml",
    "plan": "plan",
    "sample": "sample",
    "make": "work/make",
    "run": "runs/candidate",
    "judge": "checks",
    "gate": "policy.toml",
    "evidence": "evidence",
    "share": "share",
}
"""What a step makes first; a step that is not here is killed a moment after it began."""
MOMENT_S = 1.0


class CommandResult(NamedTuple):
    """How a command ended, which was killed once and run again if `killed`."""

    code: int
    killed: bool
    output: str


def commands() -> tuple[list[str], str]:
    """Reads the commands of the page for one hospital, and that for several."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    (own,) = [block for block in blocks if f" {NAME} " in block]
    (pool,) = re.findall(r"`(medical-tasks site pool [^`]*)`", text)
    return own.splitlines(), pool


def run_command(
    line: str, folder: Path, *, kill: bool, hospital: str = ""
) -> CommandResult:
    """Runs a command; with `kill` it is killed once it has begun, and run again."""
    words = line.split()
    killed = kill and _killed(words, folder, hospital)
    done = subprocess.run(
        _python(words), cwd=folder, capture_output=True, text=True, check=False
    )
    return CommandResult(done.returncode, killed, done.stdout + done.stderr)


def _python(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "medical_tasks", *words[1:]]


def _killed(words: Sequence[str], folder: Path, hospital: str) -> bool:
    """Starts a command and kills it; False where it ended first."""
    step = words[2]
    # What an earlier step wrote there does not show that this one has begun.
    begun = folder / hospital / BEGUN[step] if step in BEGUN else None
    before = begun is None or begun.exists()
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        _python(words), cwd=folder, stdout=nowhere, stderr=nowhere
    )
    start = time.monotonic()
    while process.poll() is None:
        waited = time.monotonic() - start
        if waited > MOMENT_S if before or begun is None else begun.exists():
            process.send_signal(signal.SIGKILL)
            process.wait()
            return process.returncode == -signal.SIGKILL
        time.sleep(0.002)
    return False


def hospital(folder: Path, name: str, patients: int, seed: int, *, kill: bool) -> None:
    """Runs one hospital, from its notes to the file that it shares."""
    lines, _ = commands()
    kills, verdict = 0, ""
    for line in lines:
        own = re.sub(rf"\b{NAME}\b", name, line)
        if " site new " in own:
            own += f" --patients {patients} --seed {seed}"
        result = run_command(own, folder, kill=kill, hospital=name)
        kills += result.killed
        expected = (0, 6, 7) if " site gate " in own else (0,)
        if result.code not in expected:
            raise SystemExit(f"{own}: exit code {result.code}\n{result.output}")
        if " site gate " in own:
            verdict = re.findall(r"(?m)^(?:GO|NO-GO|INCONCLUSIVE) \(.*", result.output)[
                -1
            ]
    print(f"{name}: {len(lines)} commands, {kills} killed. {verdict}", flush=True)
    _figures(folder / name)


def _figures(folder: Path) -> None:
    """Prints each role's score, as judged and as corrected, and how often the model is right."""
    for role, true in RIGHT.items():
        results = json.loads((folder / "runs" / role / "results.json").read_text())
        (entry,) = results["tasks"].values()
        shown = []
        for metric in ("accuracy", "accuracy_corrected"):
            figure = entry["metrics"].get(metric, {})
            if figure.get("value") is not None:
                low, high = figure["ci_low"], figure["ci_high"]
                shown.append(
                    f"{metric} {figure['value']:.3f} ({low:.3f} to {high:.3f})"
                )
        print(f"  {role}, right in {true:.0%}: {'; '.join(shown)}", flush=True)


def pooled(folder: Path, *, kill: bool) -> None:
    """Pools the files that the hospitals share, and searches them for text of notes."""
    _, line = commands()
    head = " ".join(line.split()[:3])
    files = " ".join(f"{name}/share/site_share.json" for name, *_ in HOSPITALS)
    result = run_command(f"{head} {files}", folder, kill=kill)
    print(f"pooled, {'killed once, ' if result.killed else ''}exit code {result.code}")
    print(result.output)
    for name, *_ in HOSPITALS:
        site = open_site(folder / name)
        report = check_leaks(site.share, [site.notes])
        print(f"{name}: {len(report.found)} files with text of notes in what it shared")


def main() -> None:
    """Runs the five, one after the other."""
    words = [word for word in sys.argv[1:] if word != "--calm"]
    folder = Path(words[0]) if words else Path(tempfile.mkdtemp(prefix="hospitals-"))
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MEDICAL_TASKS_HOME", str(folder / "home"))
    kill = "--calm" not in sys.argv
    for name, patients, seed in HOSPITALS:
        hospital(folder, name, patients, seed, kill=kill)
    pooled(folder, kill=kill)


if __name__ == "__main__":
    main()
