"""Check a judge against labels of people: physicians' on K-QA, clinicians' on EHRNoteQA, or ANLI and MedNLI.

    medical-tasks judge-check kqa --judge openai-api/my-host/my-model --source K-QA
    medical-tasks judge-check kqa --judge nli/path/to/model --source NLI_medical_annotator.csv
    medical-tasks judge-check ehrnoteqa --judge openai-api/my-host/my-model --source scores.csv --raters ann,ben,cy
    medical-tasks judge-check anli --judge nli/path/to/model --source anli_v1.0 --round R1 --ways 2
    medical-tasks judge-check mednli --judge nli/path/to/model --source mli_test_v1.jsonl
    medical-tasks judge-check nli --judge nli/path/to/model --source anli_v1.0 --mednli mli_test_v1.jsonl --ways 2

kqa asks what scoring K-QA asks, about the 399 statements that three physicians labelled, and sets the judge beside them.
--source is a checkout of https://github.com/Itaymanes/K-QA, or its dataset/NLI_medical_annotator.csv. --judging batched asks
for all statements of an answer at once, asks singly too, and says how often both agree. ehrnoteqa asks what scoring EHRNoteQA
asks, about models' answers that people scored as correct or not: --source is a CSV file with the columns id (the question's in
the built dataset), response, perhaps model, and one a rater. anli and mednli ask the plain question of entailment, in the --style
given; nli is both together, with the means of the parts. EHRNoteQA and MedNLI are credentialed, their text stays on this machine.
Prints the figures and writes check.json; `run` and `score` show the last check of the judge they use. The same command goes on
where it stopped; exit code 5 when pairs are without a verdict.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medical_tasks._version import __version__
from medical_tasks.benchmarks.catalog import BENCHMARKS, tasks
from medical_tasks.cli import tell_figures
from medical_tasks.errors import IncompleteError, UsageError, check_least
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import redact_reason
from medical_tasks.io.output import tell
from medical_tasks.judges.checks import CHECK_FORMAT, check_key, record_check, summary_of
from medical_tasks.judges.session import JudgeSession, next_step, open_session
from medical_tasks.runs.folder import RunFolder, default_folder, is_main_process, locked, open_run_folder
from medical_tasks.runs.judge_arguments import judge_request
from medical_tasks.runs.judging import JudgeRequest

if TYPE_CHECKING:
    from medical_tasks.judges.check_sets import CheckRequest, CheckSet, CheckSetSource


def run(arguments: argparse.Namespace) -> int:
    """Checks the judge; exit code 5 when pairs are without a verdict."""
    if not is_main_process():
        return 0  # there is nothing to share among processes
    sets = _sets()
    if arguments.set not in sets:
        raise UsageError(f"judge-check: there is no set {arguments.set!r}. Sets: {', '.join(sets)}.")
    known = sets[arguments.set]
    asked = _request(arguments, sets)
    task = known.task(arguments.format) if known.task else next(each for each in tasks().values() if each.judge)
    request = judge_request(arguments, [task], prompts=arguments.prompts)
    if request is None or arguments.judge is None:
        raise UsageError(f"which judge? medical-tasks judge-check {arguments.set} --judge J. See: --help")
    private = any(subject.access != "open" for subject in known.subjects)
    with policy.protect(known.subjects, policy.attestation_from(arguments)):
        chosen = known.read(asked)
        opening: dict[str, Any] = {"args": request.args, "options": request.options, "label": arguments.set}
        if request.options.forecast:
            with tempfile.TemporaryDirectory() as scratch:
                store = Path(scratch) / "none.sqlite"
                with open_session(request.name, store=store, log_dir=Path(scratch), **opening) as session:
                    chosen.ask(session, request.mode)
            tell("No judge was asked and nothing is written.")
            return 0
        # Not how much is asked, nor whether in batches: what is in the store is never asked again.
        identity = {name: value for name, value in request.identity.items() if name != "mode"}
        settings: dict[str, Any] = {"check": arguments.set, "judge": identity}
        if "format" in known.takes:
            settings["format"] = arguments.format or "open"
        path = arguments.out or default_folder(f"check-{arguments.set}-{request.name}", settings)
        folder = open_run_folder(path, settings, private=private)
        with (
            locked(folder),
            open_session(request.name, store=folder.answers, log_dir=folder.logs, **opening) as session,
        ):
            check = _checked(arguments, chosen, session, request, private=private)
            return _finish(arguments, folder, check, session)


def _sets() -> dict[str, CheckSetSource]:
    """The benchmarks' own sets, and the general ones."""
    from medical_tasks.judges.check_sets import GENERAL_SETS

    own = {name: each for benchmark in BENCHMARKS for name, each in benchmark.check_sets().items()}
    return {**own, **GENERAL_SETS}


def _request(arguments: argparse.Namespace, sets: Mapping[str, CheckSetSource]) -> CheckRequest:
    """Options of one set mean nothing for another, and are not passed over in silence."""
    from medical_tasks.judges.check_sets import CheckRequest

    check_least({"--max-pairs": arguments.max_pairs})
    special = {name for each in sets.values() for name in each.takes}
    options = [each.name for each in fields(CheckRequest) if each.name in special]
    stray = [
        name
        for name in options
        if getattr(arguments, name) not in (None, "own") and name not in sets[arguments.set].takes
    ]
    if stray:
        takers = ", ".join(name for name, known in sets.items() if known.takes.issuperset(stray)) or "other sets"
        given = ", ".join(f"--{name}" for name in stray)
        raise UsageError(f"{given}: only for judge-check {takers}, got {arguments.set}. Leave it out.")
    if arguments.judging == "batched" and not sets[arguments.set].batched:
        raise UsageError(
            f"--judging {arguments.judging}: the pairs of {arguments.set} stand alone, there is nothing to batch. Leave it out."
        )
    raters = [] if arguments.raters is None else [name.strip() for name in arguments.raters.split(",")]
    if not all(raters):
        raise UsageError(f"--raters must be names of columns with commas between them, got {arguments.raters!r}.")
    asked = {each.name: getattr(arguments, each.name) for each in fields(CheckRequest)}
    return CheckRequest(**{**asked, "raters": raters})


def _checked(
    arguments: argparse.Namespace, chosen: CheckSet, session: JudgeSession, request: JudgeRequest, *, private: bool
) -> dict[str, Any]:
    """Asks the judge and makes the content of check.json."""
    from medical_tasks.judges.check_figures import check_figures, labels_of, pair_labels, same_labels

    if arguments.style is not None and session.reads == "pair":
        raise UsageError(
            f"--style {arguments.style}: {session.name} reads no prompt, only the two texts. Leave it out."
        )
    began = time.monotonic()
    labels, unscored = labels_of(chosen.ask(session, request.mode))
    if private:
        reasons: Counter[str] = Counter()
        for reason, count in unscored.items():
            reasons[redact_reason(reason)] += count
        unscored = dict(reasons)
    both = None
    if request.mode == "batched":
        singly, _ = labels_of(chosen.ask(session, "single"))
        both = same_labels(chosen.pairs, singly, labels)
    seconds = time.monotonic() - began
    stats = session.stats
    return {
        "schema_version": CHECK_FORMAT,
        "set": chosen.name,
        "date": datetime.now(tz=UTC).date().isoformat(),
        "suite_version": __version__,
        "judge": {"name": session.name, "comparable": session.comparable, "identity": session.identity},
        "votes": request.options.votes,
        "reasks": request.options.reasks,
        "mode": request.mode,
        "prompts": dict(chosen.prompts),
        "source": dict(chosen.source),
        **chosen.about,
        "ways": chosen.ways,
        "pairs": len(chosen.pairs),
        "clusters": len({pair.cluster for pair in chosen.pairs}),
        "scored": len(labels) - labels.count(None),
        "unscored": unscored,
        "labels": pair_labels(chosen.pairs, labels),
        "figures": check_figures(
            chosen.pairs,
            labels,
            ways=chosen.ways,
            views=chosen.views,
            names=chosen.raters,
            averages=chosen.averages,
        ),
        "single_vs_batched": both,
        "cost": {
            "calls": stats.calls,
            "from_store": stats.from_store,
            "votes_saved": stats.saved,
            "seconds": round(seconds, 3),
        },
        "usage": session.usage,
    }


def _finish(arguments: argparse.Namespace, folder: RunFolder, check: dict[str, Any], session: JudgeSession) -> int:
    """Writes the check, keeps it on record, prints it."""
    from medical_tasks.judges.check_figures import render_check

    tell_figures(render_check(check), check, folder.path / "check.json")
    if check["scored"]:
        prompts, mode = check["prompts"]["set"], check["mode"]
        key = check_key(session.identity, votes=check["votes"], mode=mode, prompts=prompts)
        record_check(key, summary_of(check))
    missing = check["pairs"] - check["scored"]
    if missing:
        said = ", ".join(f"{count} x {reason}" for reason, count in check["unscored"].items())
        raise IncompleteError(
            f"{missing} of {check['pairs']} pairs have no verdict ({said}). The figures are over the others. "
            + next_step(check["unscored"])
        )
    return 0
