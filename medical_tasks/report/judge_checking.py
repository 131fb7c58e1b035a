"""Checks judges against people's labels, to choose one of them."""

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
"""Each judge's request, with the folder and the settings of its check, by its name."""

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
    """The result of checking judges.

    Attributes:
        checks: the content of each new `check.json`, by the judge's name.
        failed: why a judge could not be checked, by its name.
        choice: the comparison of all checks, new and earlier, with the judge to choose; {}
            if there is none.
        files: the file of a single check; otherwise the page and the choice.
    """

    checks: Mapping[str, Json]
    failed: Mapping[str, str]
    choice: Json
    files: tuple[Path, ...] = ()


def _earlier_checks(arguments: JudgeCheck, judges: Collection[str]) -> dict[str, Json]:
    """Reads the checks to compare with, by names that differ from the judges'."""
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
    """Checks judges, records the checks and writes their files.

    Returns:
        The result, even if some pairs have no verdict; None after a forecast and in every
        process but the main one.
    """
    if not is_main_process():
        return None  # checks are not shared among processes

    sets = _sets()
    if arguments.set not in sets:
        raise UsageError(
            f"judge-check: there is no set {arguments.set!r}. Sets: {', '.join(sets)}."
        )

    source, request = sets[arguments.set], _request(arguments, sets)
    judges = _judge_requests(arguments, source)
    earlier = _earlier_checks(arguments, judges)
    if not judges and not earlier:
        raise UsageError(
            f"which judge? medical-tasks judge-check {arguments.set} --judge J. See: --help"
        )

    alone = len(judges) == 1 and not earlier
    checks_made, failed = dict[str, Json](), dict[str, str]()
    with policy.protect(source.subjects, policy.attestation_from(arguments)):
        if judges:  # not for earlier checks alone
            check_set = _read_set(arguments, source, request)
            checks_made, failed = _check_all(
                arguments, source, check_set, judges, alone=alone
            )

    if arguments.forecast:
        return None

    return _write_checks(arguments, judges, earlier, checks_made, failed)


def _read_set(
    arguments: JudgeCheck, source: CheckSetSource, request: CheckRequest
) -> CheckSet:
    """Reads the set, whose answers must have an order if `--orders` is given."""
    check_set = source.read(request)
    if arguments.orders is not None and check_set.ask_shuffled is None:
        raise UsageError(
            f"--orders {arguments.orders}: the pairs of {arguments.set} concern no "
            "answer with an order of sentences or statements. Leave it out."
        )
    return check_set


def _check_all(
    arguments: JudgeCheck,
    source: CheckSetSource,
    check_set: CheckSet,
    judges: Judges,
    *,
    alone: bool,
) -> tuple[dict[str, Json], dict[str, str]]:
    """Checks each judge and writes its check; returns the checks, and the reasons of failures.

    The error of a judge that is checked `alone` is raised.
    """
    private = any(subject.access != "open" for subject in source.subjects)
    checks, failed = dict[str, Json](), dict[str, str]()
    for name, (request, path, settings) in judges.items():
        folder = functools.partial(open_run_folder, path, settings, private=private)
        try:
            check = _check_judge(arguments, check_set, request, folder)
        except MedicalTasksError as error:
            if alone:
                raise

            print(f"{name}: {error}", file=sys.stderr)
            failed[name] = one_line(str(error)).rstrip(".")
            continue

        if check:
            checks[name] = check
            write_figures(check, path / CHECK_FILE)

    return checks, failed


def _write_checks(
    arguments: JudgeCheck,
    judges: Judges,
    earlier: Mapping[str, Json],
    checks: dict[str, Json],
    failed: dict[str, str],
) -> CheckedJudges:
    """Writes the page of several judges, and records each check."""
    from medical_tasks.judges.choosing import choose
    from medical_tasks.report.page import judges_page

    choice = choose({**earlier, **checks}, failed) if earlier or checks else {}
    files: tuple[Path, ...] = ()
    if len(judges) == 1 and not earlier:
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

    for check in checks.values():
        if check["scored"]:
            _record(check)

    return CheckedJudges(checks=checks, failed=failed, choice=choice, files=files)


def _record(check: Json) -> None:
    """Records a check, for later runs that use the judge in the same way."""
    key = check_key(
        check["judge"]["identity"],
        votes=check["votes"],
        mode=check["mode"],
        prompts=check["prompts"]["set"],
    )
    record_check(key, summary_of(check))


def _sets() -> dict[str, CheckSetSource]:
    """Returns the benchmarks' own sets and the general ones."""
    from medical_tasks.judges.check_sets import GENERAL_SETS

    own_sets = {
        name: check_set
        for benchmark in benchmarks()
        for name, check_set in benchmark.check_sets().items()
    }
    return {**own_sets, **GENERAL_SETS}


def _request(arguments: JudgeCheck, sets: Mapping[str, CheckSetSource]) -> CheckRequest:
    """Reads the options of the set; options of other sets are refused, not ignored."""
    from medical_tasks.judges.check_sets import CheckRequest

    check_least({"--max-pairs": arguments.max_pairs})
    check_least({"--orders": arguments.orders}, 2)
    options = {
        field.name: getattr(arguments, field.name) for field in fields(CheckRequest)
    }
    _refuse_other_sets_options(arguments.set, sets, options)
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

    return CheckRequest(**{**options, "raters": raters})


def _refuse_other_sets_options(
    name: str, sets: Mapping[str, CheckSetSource], options: Mapping[str, object]
) -> None:
    """Refuses options that only other sets take."""
    others = {option for source in sets.values() for option in source.takes}
    others -= sets[name].takes
    stray = [
        option
        for option, value in options.items()
        if option in others and value not in (None, "own")
    ]
    if not stray:
        return

    takers = [other for other, source in sets.items() if source.takes >= {*stray}]
    raise UsageError(
        f"{', '.join(f'--{option}' for option in stray)}: only for judge-check "
        f"{', '.join(takers) or 'other sets'}, got {name}. Leave it out."
    )


def _judge_requests(arguments: JudgeCheck, source: CheckSetSource) -> Judges:
    """Reads the requests for the judges that a command names."""
    task = (
        source.task(arguments.format)
        if source.task
        else next(candidate for candidate in tasks().values() if candidate.judge)
    )
    judges = each_judge(arguments)
    requests: Judges = {}
    for judge in judges:
        request = (
            judge_request(
                judge, [task], prompts=arguments.prompts, upstream=arguments.upstream
            )
            or JudgeRequest()
        )
        # Not the number of pairs, nor the mode: stored replies are never asked again.
        identity = {
            name: value for name, value in request.identity.items() if name != "mode"
        }
        settings: dict[str, object] = {"check": arguments.set, "judge": identity}
        if "format" in source.takes:
            settings["format"] = arguments.format or "open"

        if any(settings == others for _, _, others in requests.values()):
            raise UsageError(
                f"--judge {request.name}: is given twice with the same settings. Once is enough."
            )

        path = arguments.out or default_folder(
            f"check-{arguments.set}-{request.name}", settings
        )
        if arguments.out and len(judges) + len(arguments.compare) > 1:
            path = arguments.out / default_folder(request.name, settings).name

        requests[_name(request.name, requests)] = request, path, settings

    return requests


def _name(judge: str, names: Collection[str]) -> str:
    """Returns a judge's name, with a number if other names are the same."""
    same = sum(name == judge or name.startswith(f"{judge} (") for name in names)
    return f"{judge} ({same + 1})" if same else judge


def _ask_in_orders(
    arguments: JudgeCheck,
    check_set: CheckSet,
    request: JudgeRequest,
    session: JudgeSession,
) -> dict[What, list[Shuffled]]:
    """Asks for the judge's labels in each shuffled order, by what is shuffled; empty by default."""
    from medical_tasks.judges.shuffling import Shuffle

    ask = check_set.ask_shuffled
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
    check_set: CheckSet,
    labels: Sequence[str | None],
    in_orders: Mapping[What, Sequence[Shuffled]],
    request: JudgeRequest,
) -> dict[str, object]:
    """Computes the figures for each kind of shuffling, or says why there are none."""
    from medical_tasks.judges.check_figures import labels_of
    from medical_tasks.judges.shuffling import order_figures

    figures: dict[str, object] = {}
    if request.mode == "single":
        figures["statements"] = {
            "reason": "each statement is judged alone, so that there is no order of them"
        }

    for what, orders in in_orders.items():
        others = [labels_of(order.labels)[0] for order in orders]
        all_labels = [
            label for labels_of_order in (labels, *others) for label in labels_of_order
        ]
        view = next(view for view in check_set.views if view.holds(all_labels))
        positions = [order.places for order in orders if order.places]
        figures[what] = order_figures(check_set.pairs, labels, others, positions, view)

    return figures


def _check_judge(
    arguments: JudgeCheck,
    check_set: CheckSet,
    request: JudgeRequest,
    folder: Callable[[], RunFolder],
) -> Json:
    """Asks the judge, and makes the content of `check.json`.

    Besides the labels that count, it asks in other ways and compares the labels: pair by
    pair if they are batched; and, by the options, a second time, with the verdicts named in
    reverse order, or in shuffled orders.
    """
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

        labels, unscored = labels_of(check_set.ask(session, request.mode, False))
        usage, comparisons = session.usage, dict[str, object](single_vs_batched=None)
        # Other ways of asking, by the name of their comparison with these labels.
        ways: dict[str, tuple[JudgeSession, Mode, bool]] = {}
        if request.mode == "batched":
            ways["single_vs_batched"] = session, "single", False
        if arguments.again:
            ways["again"] = session.again(), request.mode, False

        if arguments.sensitivity and session.reads == "pair":
            comparisons["turned"] = {"reason": "it reads no prompt"}
        elif arguments.sensitivity and request.prompts == "official":
            comparisons["turned"] = {"reason": "the authors' prompts stay as they are"}
        elif arguments.sensitivity:
            ways["turned"] = session, request.mode, True

        for name, way in ways.items():
            comparisons[name] = same_labels(
                check_set.pairs,
                labels_of(check_set.ask(*way))[0],
                labels,
                check_set.views,
            )

        in_orders = _ask_in_orders(arguments, check_set, request, session)
        if arguments.forecast:
            return {}
        if in_orders:
            comparisons["orders"] = _order_figures(
                check_set, labels, in_orders, request
            )
        if policy.protecting():
            unscored = dict(Counter(map(redact_reason, Counter(unscored).elements())))

        stats = session.stats
        return {
            "schema_version": CHECK_FORMAT,
            "set": check_set.name,
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
            "prompts": dict(check_set.prompts),
            "source": dict(check_set.source),
            **check_set.about,
            "ways": check_set.ways,
            "pairs": len(check_set.pairs),
            "clusters": len({pair.cluster for pair in check_set.pairs}),
            "scored": len(labels) - labels.count(None),
            "unscored": unscored,
            "labels": pair_labels(check_set.pairs, labels),
            "figures": check_figures(
                check_set.pairs,
                labels,
                ways=check_set.ways,
                views=check_set.views,
                names=check_set.raters,
                averages=check_set.averages,
            ),
            **choice_figures(
                check_set.pairs,
                labels,
                check_set.views[-1],
                judge=session.name,
                answers=check_set.answers,
                whole=check_set.whole,
            ),
            **comparisons,
            "cost": {
                "calls": stats.calls,
                "from_store": stats.from_store,
                "votes_saved": stats.saved,
                "seconds": round(time.monotonic() - began, 3),
            },
            "verdict_usage": usage,
            "usage": session.usage,
        }
