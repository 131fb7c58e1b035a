"""Checks of judges against labels of people: whom to take, and why."""

from __future__ import annotations

import functools
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from medical_tasks._version import __version__
from medical_tasks.catalog import benchmarks, tasks
from medical_tasks.errors import MedicalTasksError, UsageError, check_least
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import redact_reason
from medical_tasks.io.files import WholeFile, one_line
from medical_tasks.io.output import write_figures
from medical_tasks.judges.checks import (
    CHECK_FORMAT,
    check_key,
    read_check,
    record_check,
    summary_of,
)
from medical_tasks.judges.session import JudgeSession
from medical_tasks.options import JudgeCheck
from medical_tasks.runs.folder import (
    RunFolder,
    default_folder,
    is_main_process,
    open_run_folder,
)
from medical_tasks.runs.judge_arguments import each_judge, judge_request
from medical_tasks.runs.judging import JudgeRequest, open_session_in
from medical_tasks.runs.results import Json

CHECK_FILE: Final = "check.json"
Judges: TypeAlias = dict[str, tuple[JudgeRequest, Path, dict[str, object]]]
"""What is asked of each judge, and the folder of its check with its settings, by its name."""

if TYPE_CHECKING:
    from medical_tasks.judges.check_sets import (
        CheckRequest,
        CheckSet,
        CheckSetSource,
        Mode,
    )
    from medical_tasks.judges.shuffling import Shuffled, What


@dataclass(frozen=True, kw_only=True)
class CheckedJudges:
    """What a check of judges found.

    Attributes:
        checks: the content of each `check.json` that was made, by the judge.
        failed: why a judge could not be checked, by its name.
        choice: all of them beside the earlier checks, and which judge to take; {} where
            none was made. files: the check's own file where one judge was checked
            alone, else the page and the choice.
    """

    checks: Mapping[str, Json]
    failed: Mapping[str, str]
    choice: Json
    files: tuple[Path, ...] = ()


def _earlier_checks(arguments: JudgeCheck, judges: Collection[str]) -> dict[str, Json]:
    """Reads the checks to compare with, by names that none of the judges has."""
    checks: dict[str, Json] = {}
    for _, _, check in map(read_check, arguments.compare):
        if check["set"].partition("_")[0] != arguments.set:
            raise UsageError(
                f"--compare: {check['judge']['name']} is checked on {check['set']}, not on "
                f"{arguments.set}."
            )
        checks[_name(check["judge"]["name"], {*judges, *checks})] = check
    return checks


def judge_check(arguments: JudgeCheck) -> CheckedJudges | None:
    """Checks judges, keeps the checks on record, and writes their files.

    Returns:
        What was found, also where pairs have no verdict; None after a forecast and in
        all but the main process.
    """
    if not is_main_process():
        return None  # there is nothing to share among processes

    sets = _sets()
    if arguments.set not in sets:
        raise UsageError(
            f"judge-check: there is no set {arguments.set!r}. Sets: {', '.join(sets)}."
        )

    known, asked = sets[arguments.set], _request(arguments, sets)
    judges = _judges(arguments, known)
    checks = _earlier_checks(arguments, judges)
    if not judges and not checks:
        raise UsageError(
            f"which judge? medical-tasks judge-check {arguments.set} --judge J. See: --help"
        )

    alone = len(judges) == 1 and not checks
    made, failed = dict[str, Json](), dict[str, str]()
    with policy.protect(known.subjects, policy.attestation_from(arguments)):
        if judges:  # not for earlier checks alone
            chosen = _chosen_set(arguments, known, asked)
            made, failed = _checks_of(arguments, known, chosen, judges, alone=alone)

    if arguments.forecast:
        return None

    return _written(arguments, judges, checks, made, failed)


def _chosen_set(
    arguments: JudgeCheck, known: CheckSetSource, asked: CheckRequest
) -> CheckSet:
    """Reads the set, which must have what `--orders` asks for."""
    chosen = known.read(asked)
    if arguments.orders is not None and chosen.ask_shuffled is None:
        raise UsageError(
            f"--orders {arguments.orders}: the pairs of {arguments.set} are about no "
            "answer with an order of sentences or statements. Leave it out."
        )
    return chosen


def _checks_of(
    arguments: JudgeCheck,
    known: CheckSetSource,
    chosen: CheckSet,
    judges: Judges,
    *,
    alone: bool,
) -> tuple[dict[str, Json], dict[str, str]]:
    """Checks each judge, and writes what was found; of those that fail the reason.

    The error of a judge that is checked alone is raised.
    """
    private = any(subject.access != "open" for subject in known.subjects)
    made, failed = dict[str, Json](), dict[str, str]()
    for name, (request, path, settings) in judges.items():
        folder = functools.partial(open_run_folder, path, settings, private=private)
        try:
            check = _checked(arguments, chosen, request, folder)
        except MedicalTasksError as error:
            if alone:
                raise

            print(f"{name}: {error}", file=sys.stderr)
            failed[name] = one_line(str(error)).rstrip(".")
            continue

        if check:
            made[name] = check
            write_figures(check, path / CHECK_FILE)

    return made, failed


def _written(
    arguments: JudgeCheck,
    judges: Judges,
    checks: Mapping[str, Json],
    made: dict[str, Json],
    failed: dict[str, str],
) -> CheckedJudges:
    """Writes the page of several judges, and keeps each check on record."""
    from medical_tasks.judges.choosing import choose
    from medical_tasks.report.page import judges_page

    choice = choose({**checks, **made}, failed) if checks or made else {}
    files: tuple[Path, ...] = ()
    if len(judges) == 1 and not checks:
        ((_, path, _),) = judges.values()
        files = (path / CHECK_FILE,)
    elif choice:
        folders = sorted(str(path) for _, path, _ in judges.values())
        out = arguments.out or default_folder(
            f"judges-{arguments.set}", {"checks": folders}
        )
        files = (out / "judges.html", out / "choosing.json")
        with WholeFile(files[0]) as page:
            page.write(judges_page(choice))

        write_figures(choice, files[1])

    for check in made.values():
        if check["scored"]:
            _record(check)

    return CheckedJudges(checks=made, failed=failed, choice=choice, files=files)


def _record(check: Json) -> None:
    """Keeps a check on record, for whoever uses the judge in the same way."""
    key = check_key(
        check["judge"]["identity"],
        votes=check["votes"],
        mode=check["mode"],
        prompts=check["prompts"]["set"],
    )
    record_check(key, summary_of(check))


def _sets() -> dict[str, CheckSetSource]:
    """The benchmarks' own sets, and the general ones."""
    from medical_tasks.judges.check_sets import GENERAL_SETS

    own = {
        name: each
        for benchmark in benchmarks()
        for name, each in benchmark.check_sets().items()
    }
    return {**own, **GENERAL_SETS}


def _request(arguments: JudgeCheck, sets: Mapping[str, CheckSetSource]) -> CheckRequest:
    """Options of one set mean nothing for another, and are not passed over in silence."""
    from medical_tasks.judges.check_sets import CheckRequest

    check_least({"--max-pairs": arguments.max_pairs})
    check_least({"--orders": arguments.orders}, 2)
    given = {each.name: getattr(arguments, each.name) for each in fields(CheckRequest)}
    special = {name for each in sets.values() for name in each.takes} - sets[
        arguments.set
    ].takes
    if stray := [
        name
        for name, value in given.items()
        if name in special and value not in (None, "own")
    ]:
        takers = (
            ", ".join(
                name for name, known in sets.items() if known.takes.issuperset(stray)
            )
            or "other sets"
        )
        raise UsageError(
            f"{', '.join(f'--{name}' for name in stray)}: only for judge-check {takers}, got "
            f"{arguments.set}. Leave it out."
        )

    if arguments.judging == "batched" and not sets[arguments.set].batched:
        raise UsageError(
            f"--judging {arguments.judging}: the pairs of {arguments.set} are independent, so "
            "there is nothing to batch. Leave it out."
        )

    raters = (
        []
        if arguments.raters is None
        else [name.strip() for name in arguments.raters.split(",")]
    )
    if not all(raters):
        raise UsageError(
            f"--raters must be names of columns with commas between them, got {arguments.raters!r}."
        )

    return CheckRequest(**{**given, "raters": raters})


def _judges(arguments: JudgeCheck, known: CheckSetSource) -> Judges:
    """The judges that a command names."""
    task = (
        known.task(arguments.format)
        if known.task
        else next(each for each in tasks().values() if each.judge)
    )
    several = each_judge(arguments)
    found: Judges = {}
    for one in several:
        request = (
            judge_request(
                one, [task], prompts=arguments.prompts, upstream=arguments.upstream
            )
            or JudgeRequest()
        )
        # Not how much is asked, nor whether in batches: what is in the store is never
        # asked again.
        identity = {
            name: value for name, value in request.identity.items() if name != "mode"
        }
        settings: dict[str, object] = {"check": arguments.set, "judge": identity}
        if "format" in known.takes:
            settings["format"] = arguments.format or "open"

        if any(settings == others for _, _, others in found.values()):
            raise UsageError(
                f"--judge {request.name}: is given twice with the same settings. Once is enough."
            )

        path = arguments.out or default_folder(
            f"check-{arguments.set}-{request.name}", settings
        )
        if arguments.out and len(several) + len(arguments.compare) > 1:
            path = arguments.out / default_folder(request.name, settings).name

        found[_name(request.name, found)] = request, path, settings

    return found


def _name(judge: str, taken: Collection[str]) -> str:
    """A judge's name, with a number where others have the same."""
    alike = sum(name == judge or name.startswith(f"{judge} (") for name in taken)
    return f"{judge} ({alike + 1})" if alike else judge


def _asked_in_orders(
    arguments: JudgeCheck,
    chosen: CheckSet,
    request: JudgeRequest,
    session: JudgeSession,
) -> dict[What, list[Shuffled]]:
    """The judge's labels in each shuffled order, by what was shuffled; none unless asked for."""
    from medical_tasks.judges.shuffling import Shuffle

    ask = chosen.ask_shuffled
    if arguments.orders is None or ask is None:
        return {}

    batched: tuple[What, ...] = ("statements", "sentences")
    shuffled = batched if request.mode == "batched" else batched[1:]
    return {
        what: [
            ask(session, request.mode, Shuffle(what, number))
            for number in range(1, arguments.orders)
        ]
        for what in shuffled
    }


def _order_figures(
    chosen: CheckSet,
    labels: Sequence[str | None],
    in_orders: Mapping[What, Sequence[Shuffled]],
    request: JudgeRequest,
) -> dict[str, object]:
    """What is said of each thing that was shuffled, or why it was not."""
    from medical_tasks.judges.check_figures import labels_of
    from medical_tasks.judges.shuffling import order_figures

    figures: dict[str, object] = {}
    if request.mode == "single":
        figures["statements"] = {
            "reason": "each statement is judged alone, so that there is no order of them"
        }

    for what, orders in in_orders.items():
        others = [labels_of(order.labels)[0] for order in orders]
        every = [label for each in (labels, *others) for label in each]
        view = next(view for view in chosen.views if view.holds(every))
        places = [order.places for order in orders if order.places]
        figures[what] = order_figures(chosen.pairs, labels, others, places, view)

    return figures


def _checked(
    arguments: JudgeCheck,
    chosen: CheckSet,
    request: JudgeRequest,
    folder: Callable[[], RunFolder],
) -> Json:
    """Asks the judge and makes the content of check.json."""
    from medical_tasks.judges.check_figures import (
        check_figures,
        choice_figures,
        labels_of,
        pair_labels,
        same_labels,
    )

    with open_session_in(
        folder,
        request.name,
        args=request.args,
        options=request.options,
        label=arguments.set,
    ) as session:
        began = time.monotonic()
        if arguments.style is not None and session.reads == "pair":
            raise UsageError(
                f"--style {arguments.style}: {session.name} reads no prompt, only the two texts. "
                "Leave it out."
            )

        labels, unscored = labels_of(chosen.ask(session, request.mode, False))
        usage, beside = session.usage, dict[str, object](single_vs_batched=None)
        # Other ways of asking, by what their comparison with these labels is called.
        ways: dict[str, tuple[JudgeSession, Mode, bool]] = {}
        if request.mode == "batched":
            ways["single_vs_batched"] = session, "single", False
        if arguments.again:
            ways["again"] = session.again(), request.mode, False

        if arguments.sensitivity and session.reads == "pair":
            beside["turned"] = {"reason": "it reads no prompt"}
        elif arguments.sensitivity and request.prompts == "official":
            beside["turned"] = {"reason": "the authors' prompts stay as they are"}
        elif arguments.sensitivity:
            ways["turned"] = session, request.mode, True

        for name, how in ways.items():
            beside[name] = same_labels(
                chosen.pairs, labels_of(chosen.ask(*how))[0], labels, chosen.views
            )

        in_orders = _asked_in_orders(arguments, chosen, request, session)
        if arguments.forecast:
            return {}
        if in_orders:
            beside["orders"] = _order_figures(chosen, labels, in_orders, request)
        if policy.protecting():
            unscored = dict(Counter(map(redact_reason, Counter(unscored).elements())))

        stats = session.stats
        return {
            "schema_version": CHECK_FORMAT,
            "set": chosen.name,
            "date": datetime.now(tz=UTC).date().isoformat(),
            "suite_version": __version__,
            "judge": {
                "name": session.name,
                "comparable": session.comparable,
                "identity": session.identity,
            },
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
            **choice_figures(
                chosen.pairs,
                labels,
                chosen.views[-1],
                judge=session.name,
                answers=chosen.answers,
                whole=chosen.whole,
            ),
            **beside,
            "cost": {
                "calls": stats.calls,
                "from_store": stats.from_store,
                "votes_saved": stats.saved,
                "seconds": round(time.monotonic() - began, 3),
            },
            "verdict_usage": usage,
            "usage": session.usage,
        }
