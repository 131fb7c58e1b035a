"""`site gate`: turns a preset into a policy, decides by it, and adds the verdict to the history.

`medical-tasks gate` reads the same policy file and reaches the same verdict. The preset
sets the strictness; the use sets the metrics, and which of them are harms (`MEASURES`).

| rule | exploratory | standard | strict |
|---|---|---|---|
| main metrics: at most `margin` worse than the baseline | yes | yes | yes |
| harms: at most so much worse | `margin` | `margin` | half of it |
| each group of each stratum, main metrics | no | 2 `margin` | 1.5 `margin` |
| share of items that are scored, at least | 0.9 | 0.95 | 0.98 |
| the judge's kappa with people, at least | no | 0.6 | 0.7 |

Without a baseline each metric must reach a floor instead (`Measure.floors`). The floors
are only a start: set your own in site.toml.

A `[[rule]]` in site.toml replaces the preset's rule on the same metric and groups; other
rules are added.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from medical_tasks._version import __version__
from medical_tasks.catalog import tasks
from medical_tasks.comparison.gating import (
    GO,
    INCONCLUSIVE,
    NO_GO,
    Finding,
    findings_report,
    gate,
)
from medical_tasks.comparison.policies import read_policy
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import WholeFile, found_at, read_bytes
from medical_tasks.io.output import tell
from medical_tasks.judges.checks import check_set_of, read_check
from medical_tasks.runs.calibrating import SUFFIX, raw_name
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import (
    ITEMS_FILE,
    RESULTS_FILE,
    Json,
    JsonDict,
    Results,
    read_results,
)
from medical_tasks.site import history
from medical_tasks.site.folder import Site, journal, last, note_step, open_site
from medical_tasks.site.judging import current_checks
from medical_tasks.site.options import Gate
from medical_tasks.site.sampling import items_file
from medical_tasks.site.settings import Preset
from medical_tasks.site.steps import State, journal_state

CODES: Final[Mapping[str, int]] = MappingProxyType({GO: 0, NO_GO: 6, INCONCLUSIVE: 7})
"""Exit codes by verdict, as in `gate`."""
CANDIDATE, BASELINE = "candidate", "baseline"
RuleTable: TypeAlias = Mapping[str, object]
"""A `[[rule]]` of a policy, as parsed from TOML."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A metric that decides on a use.

    Attributes:
        metric: its name.
        floors: the value to reach without a baseline, by preset; the value not to
            exceed if lower is better.
        harm: whether it counts harm: contradictions, inventions, critical errors.
    """

    metric: str
    floors: Mapping[Preset, float]
    harm: bool = False


def _floors(
    exploratory: float, standard: float, strict: float
) -> Mapping[Preset, float]:
    return MappingProxyType(
        {"exploratory": exploratory, "standard": standard, "strict": strict}
    )


MEASURES: Final[Mapping[str, tuple[Measure, ...]]] = MappingProxyType(
    {
        "chart-qa": (Measure(metric="accuracy", floors=_floors(0.5, 0.7, 0.8)),),
        "calculator": (
            Measure(metric="accuracy", floors=_floors(0.5, 0.7, 0.8)),
            # The right number in the wrong unit may be a dose ten times off.
            Measure(
                metric="right_number_wrong_unit",
                floors=_floors(0.1, 0.05, 0.03),
                harm=True,
            ),
        ),
        "discharge-summary": (
            Measure(metric="claim_recall", floors=_floors(0.4, 0.5, 0.6)),
            # Claims that the reference does not support are inventions.
            Measure(metric="claim_precision", floors=_floors(0.5, 0.7, 0.8), harm=True),
        ),
        "patient-questions": (
            Measure(metric="comprehensiveness", floors=_floors(0.4, 0.5, 0.6)),
            Measure(
                metric="hallucination_rate", floors=_floors(0.5, 0.3, 0.2), harm=True
            ),
            Measure(metric="contradicted", floors=_floors(0.4, 0.25, 0.15), harm=True),
        ),
    }
)
"""By use: the main metrics, then the harms."""
COVERAGE: Final = _floors(0.9, 0.95, 0.98)
"""The least share of items with a score, by preset."""
_KAPPA: Final[Mapping[Preset, float]] = MappingProxyType(
    {"standard": 0.6, "strict": 0.7}
)
_GROUP_MARGIN: Final[Mapping[Preset, float]] = MappingProxyType(
    {"standard": 2.0, "strict": 1.5}
)
_HARM_MARGIN: Final = _floors(1.0, 1.0, 0.5)


@dataclass(frozen=True, kw_only=True)
class Materials:
    """The input of a policy's rules; paths are relative to the policy's folder.

    Attributes:
        use: the use of the model.
        preset: the strictness of the rules.
        margin: how much worse than the baseline a main metric may be.
        task: the task whose results decide.
        config: the configuration of its data.
        split: the split of its data.
        judged: whether a judge decided.
        baseline: the folder of the baseline's run; "" for none.
        strata: the breakdowns with rules on groups: of the task, or columns of `sample`.
        sample: the table with the groups of items or patients.
        check: the judge's check; "" for none.
        accept: what may differ between the two runs (`recipes.DIFFERENCES`).
        corrected: the metrics that the run also reports corrected for the judge's errors.
        own: rules of site.toml, which override the preset's.
    """

    use: str
    preset: Preset
    margin: float
    task: str
    config: str
    split: str
    judged: bool = False
    baseline: str = ""
    strata: Sequence[str] = ()
    sample: str = ""
    check: str = ""
    accept: Sequence[str] = ()
    corrected: frozenset[str] = frozenset()
    own: Sequence[RuleTable] = ()


def rules(materials: Materials) -> list[RuleTable]:
    """The rules of a preset, with those of site.toml instead of the rules they replace.

    Example: a strict policy for chart-qa with a baseline and the stratum sex has a
        margin on accuracy, one for each group of sex, a coverage and a kappa.

    A judge's errors make differences look smaller than they are. So a metric that has a
    corrected value is decided by that value; groups have none.
    """
    own = [{"task": materials.task, **rule} for rule in materials.own]
    replaced = {_about(rule) for rule in own}
    preset = [rule for rule in _preset_rules(materials) if _about(rule) not in replaced]
    return [*preset, *own]


def _preset_rules(materials: Materials) -> Iterator[RuleTable]:
    """Yields the rules of a preset, by the measures of the use.

    Each measure gets a limit, in a strict policy a narrower one if it counts harm. Except in
    an exploratory one, measures that do not count harm get a wider limit for the groups of
    each stratum. Then follow the coverage and, except in an exploratory policy, the kappa of
    the judge of a judged task.

    Raises:
        MissingError: the preset needs a check of the judge, and there is none.
    """
    preset, task = materials.preset, {"task": materials.task}
    measures = MEASURES[materials.use]
    for measure in measures:
        factor = _HARM_MARGIN[preset] if measure.harm else 1.0
        suffix = SUFFIX if measure.metric in materials.corrected else ""
        limit = _limit(materials, measure, factor)
        yield {**task, "metric": measure.metric + suffix, **limit}

    for by in materials.strata if preset in _GROUP_MARGIN else ():
        groups = {"by": by}
        if by not in tasks()[materials.task].groups:
            groups["strata"] = materials.sample

        for measure in measures:
            if not measure.harm:
                limit = _limit(materials, measure, _GROUP_MARGIN[preset], group=True)
                yield {**task, "metric": measure.metric, **groups, **limit}

    yield {**task, "coverage_at_least": COVERAGE[preset]}
    if materials.judged and preset in _KAPPA:
        if not materials.check:
            raise MissingError(
                f"the preset {preset} needs a check of the judge against people's labels of the "
                "present answers. Make one: medical-tasks site review, then medical-tasks "
                'site judge. To see the figures before that: preset = "exploratory" in site.toml.'
            )

        yield {**task, "check": materials.check, "judge_kappa_at_least": _KAPPA[preset]}


def _limit(
    materials: Materials, measure: Measure, factor: float, *, group: bool = False
) -> RuleTable:
    """The limit on a metric: a margin to the baseline, or a floor if there is none."""
    margin = round(materials.margin * factor, 6)
    if materials.baseline:
        return {"against": materials.baseline, "margin": margin}
    named = {metric.name: metric for metric in tasks()[materials.task].metrics}
    higher = named[measure.metric].higher_is_better
    floor = measure.floors[materials.preset]
    if group:
        floor += -margin if higher else margin
    return {"at_least" if higher else "at_most": round(floor, 6)}


def _about(rule: RuleTable) -> tuple[str, ...]:
    """The subject of a rule, on which a policy has only one.

    Example: a rule on accuracy by sex replaces the preset's rule on accuracy by sex, and not
    that on accuracy for all items. A corrected metric and its raw one are one subject.
    """
    if "coverage_at_least" in rule:
        return (str(rule["task"]), "coverage")
    if "judge_kappa_at_least" in rule:
        return (str(rule["task"]), "judge")
    width = "width" if "width_at_most" in rule else "value"
    task, metric, by = (str(rule.get(name, "")) for name in ("task", "metric", "by"))
    return task, raw_name(metric, _declared(task)), by, width


def _declared(task: str) -> frozenset[str]:
    """The names of a task's own metrics."""
    return frozenset(metric.name for metric in tasks()[task].metrics)


def policy_text(materials: Materials) -> str:
    """The policy as TOML."""
    scope: dict[str, object] = {"config": materials.config, "split": materials.split}
    if materials.accept:
        scope["accept"] = list(materials.accept)

    lines = [
        f"# Preset {materials.preset}, use {materials.use}. Written by `medical-tasks site gate`;",
        "# change it in site.toml ([decision], [[rule]]). Read by `medical-tasks gate` too.",
        f"[tasks.{materials.task}]",
        *_toml(scope),
    ]
    for rule in rules(materials):
        lines += ["", "[[rule]]", *_toml(rule)]

    return "\n".join(lines) + "\n"


def _toml(table: Mapping[str, object]) -> list[str]:
    """The lines of a TOML table; its strings, numbers and lists have the form of JSON."""
    return [
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in table.items()
    ]


def materials_of(site: Site, preset: Preset | None = None) -> Materials:
    """The input of a site's policy.

    Raises:
        MissingError: a run is not finished.
        UsageError: the candidate has results of several tasks.
    """
    settings = site.settings
    candidate = read_results(run_folder(site, CANDIDATE))
    task, entry = one_task(candidate, run_folder(site, CANDIDATE))
    recipe = entry["recipe"]
    baseline = ""
    if settings.models.baseline:
        baseline = site.named(run_folder(site, BASELINE))

    data = mapping(recipe.get("data"))
    return Materials(
        use=settings.use,
        preset=preset or settings.decision.preset,
        margin=settings.decision.margin,
        task=task,
        config=str(data.get("config")),
        split=str(data.get("split")),
        judged=bool(recipe.get("judge")),
        baseline=baseline,
        strata=settings.strata if groups_file(site) is not None else (),
        sample=site.named(groups_file(site) or site.sample),
        check=_check_of(site, task),
        accept=_accepted(site),
        corrected=_corrected(task, entry),
        own=settings.rule,
    )


def _corrected(task: str, entry: Json) -> frozenset[str]:
    """The metrics that a run also reports corrected for the judge's errors."""
    declared = _declared(task)
    return frozenset(
        name for name in declared if name + SUFFIX in entry["metrics"].keys() - declared
    )


def groups_file(site: Site) -> Path | None:
    """The table with the groups of each item or patient; None if there is none."""
    places = (items_file(site), site.sample)
    return next((path for path in places if found_at(path) == "file"), None)


def run_folder(site: Site, role: str) -> Path:
    """The folder of a finished run.

    Raises:
        MissingError: it is not finished.
    """
    folder = site.runs / role
    if found_at(folder / RESULTS_FILE) != "file":
        raise MissingError(
            f"{folder}: no finished run of the {role}. Ask it, or finish: medical-tasks site run"
        )

    return folder


def one_task(results: Results, folder: Path) -> tuple[str, Json]:
    """The only task of a run, with its results."""
    if len(results["tasks"]) != 1:
        raise UsageError(
            f"{folder}: has results of {', '.join(results['tasks']) or 'no task'}, and a site decides "
            "by one task. Run it again: medical-tasks site run"
        )
    return next(iter(results["tasks"].items()))


def _accepted(site: Site) -> list[str]:
    """The differences to accept if the answers of one side alone come from a file."""
    answers = site.settings.models.answers
    return ["not_asked", "imported"] if len(answers) == 1 else []


def _check_of(site: Site, task: str) -> str:
    """The latest current check of a judge on the task's pairs, as a relative path; "" for none."""
    dated_checks = []
    for path in current_checks(site):
        _, _, check = read_check(path)
        if check["set"] == check_set_of(tasks()[task]):
            dated_checks.append((path.stat().st_mtime_ns, path))
    return site.named(max(dated_checks)[1]) if dated_checks else ""


def decide(
    policy: Path, run: Path, gates: Path, *, facts: Mapping[str, object] | None = None
) -> tuple[str, history.Line]:
    """Decides about a run by a policy, and adds the verdict to the history.

    Args:
        policy: the file of the policy; paths in the history are relative to its folder.
        run: the folder of the run.
        gates: the file of the history.
        facts: further content of the line.

    Returns:
        The verdict, and the line that was added.
    """
    rules_read = read_policy(policy)
    verdict, findings = gate(rules_read, [run])
    root = policy.parent
    portable = [_portable(finding, root) for finding in findings]
    text, content = findings_report(verdict, portable, rules_read)
    policy_rules = rules_read.rules
    against = {rule.against for rule in policy_rules if rule.kind == "margin"}
    checks = {
        rule.check for rule in policy_rules if rule.kind == "judge_kappa_at_least"
    }
    files = checks | {rule.strata for rule in policy_rules if rule.strata is not None}
    record = {
        "version": __version__,
        "verdict": verdict,
        "policy": sha256(policy),
        "runs": {
            _seen(path, root): run_hashes(path) for path in (run, *sorted(against))
        },
        "files": {_seen(path, root): sha256(path) for path in sorted(files)},
        **(facts or {}),
        "scopes": content["scopes"],
        "findings": [_without_paper(finding) for finding in content["findings"]],
    }
    line = history.append(gates, "gate", record)
    tell(text, {**record, "line": line.number})

    return verdict, line


def run_hashes(folder: Path) -> dict[str, str]:
    """The hashes of a run's files: its results, and its items."""
    names = {"results": RESULTS_FILE, "items": ITEMS_FILE}
    return {name: sha256(folder / file) for name, file in names.items()}


def sha256(path: Path) -> str:
    """The hash of a file; "" if there is none."""
    if found_at(path) != "file":
        return ""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def _seen(path: Path, root: Path) -> str:
    """A path relative to a folder, so that the history reveals nothing of this machine."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def _portable(finding: Finding, root: Path) -> Finding:
    """A finding without paths of this machine."""
    here = f"{root}{os.sep}"
    return replace(
        finding,
        run=finding.run.replace(here, ""),
        rule=finding.rule.replace(here, ""),
        reason=finding.reason.replace(here, ""),
    )


def _without_paper(finding: Json) -> JsonDict:
    """A finding without the comparability with a paper, which decides nothing."""
    return {name: value for name, value in finding.items() if name != "paper"}


def run(options: Gate) -> int:
    """Writes the policy, decides by it, and records the verdict; returns its exit code."""
    site = open_site(options.folder)
    materials = materials_of(site, options.preset)
    with WholeFile(site.policy) as file:
        file.write(policy_text(materials))

    candidate = run_folder(site, CANDIDATE)
    facts = {"preset": materials.preset, "use": materials.use}
    verdict, line = decide(site.policy, candidate, site.gates, facts=facts)
    tell(f"{site.gates.name}: line {line.number}, head {line.digest[:12]}")
    settings = ("decision", "rule", "strata", "models.baseline", "models.answers")
    names = (materials.baseline, materials.sample, materials.check)
    inputs: list[str | Path] = [
        *(f"site.toml:{key}" for key in settings),
        candidate,
        *(site.path / name for name in names if name),
    ]
    note_step(
        site,
        "gate",
        inputs=inputs,
        outputs=[site.policy],
        figures={
            "verdict": verdict,
            "preset": materials.preset,
            "line": line.number,
            "head": line.digest,
        },
    )

    return CODES[verdict]


def state(site: Site) -> State:
    """The state of the gate; a history that was changed blocks it."""
    chain = history.verified(site.gates, heads=noted_heads(site))
    if not chain.sound:
        return State("blocked", chain.problems[0])

    by_journal = journal_state(site, "gate", ready="decide: GO, NO-GO or INCONCLUSIVE")
    done, preset = last(site, "gate"), site.settings.decision.preset
    used = preset if done is None else done.figures.get("preset", preset)
    if by_journal.kind == "done" and used != preset:
        text = f"{by_journal.text} by preset {used}, and site.toml says {preset}"
        return State("stale", text)

    return by_journal


def noted_heads(site: Site) -> list[str]:
    """The hashes of lines of the history that the journal recorded."""
    return [
        str(done.figures["head"])
        for done in journal(site)
        if done.step in ("gate", "monitor", "evidence") and done.figures.get("head")
    ]
