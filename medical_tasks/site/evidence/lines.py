"""The questions that frameworks ask about an evaluation, in our words, and what answers each.

Sources, of which nothing is copied: CHAI's test-and-evaluation frameworks
(coalition-for-health-ai/responsible-ai-content), the Joint Commission's and CHAI's areas
of responsible use (RUAIH), the EU AI Act (Regulation 2024/1689), the NHS's DCB0129, and
TRIPOD-LLM (doi 10.1038/s41591-024-03425-5), whose items are those of its export.

To add a line, add an entry to `LINES`: the framework, its item, the question, the
function that finds its figures, and what to do if it finds none. `{task}`, `{model}` and
`{folder}` in a command are replaced by the site's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from medical_tasks.site.evidence import finding
from medical_tasks.site.evidence.finding import Finder

CHAI: Final = "CHAI test and evaluation"
RUAIH: Final = "Joint Commission RUAIH"
AI_ACT: Final = "EU AI Act"
DCB0129: Final = "NHS DCB0129 hazard log"
TRIPOD: Final = "TRIPOD-LLM"
FRAMEWORKS: Final = (CHAI, RUAIH, AI_ACT, DCB0129, TRIPOD)
"""In the order of the page."""

_RUN: Final = "medical-tasks site run {folder}"
_GATE: Final = "medical-tasks site gate {folder}"
_MONITOR: Final = "medical-tasks site monitor {folder}"
_JUDGE: Final = "medical-tasks site review {folder}; medical-tasks site judge {folder}"
_BASELINE: Final = "name a baseline in site.toml (models.baseline), then " + _RUN
_STRATA: Final = "name strata in site.toml, then medical-tasks site sample {folder}"
_SWAP: Final = (
    "medical-tasks swap {dataset} sex=female --data DATA --out FEMALE; the same with male; "
    "medical-tasks run --tasks {task} --model {model} --data FEMALE --config {config} --out "
    "{folder}/runs/female; the same with MALE"
)
_EVALUATIONS: Final = (
    "medical-tasks run --tasks {task} --model {model} --data DATA --config {config} --judge "
    "JUDGE --evaluations 25 --out {folder}/runs/evaluations, with a judge that samples"
)
_REPEATS: Final = (
    "medical-tasks run --tasks {task} --model {model} --data DATA --config {config} "
    "--repeats 5 --out {folder}/runs/repeats"
)
_CONFIDENCE: Final = (
    "medical-tasks run --tasks {task} --model {model} --data DATA --config {config} "
    "--confidence asked --out {folder}/runs/confidence"
)
_POOL: Final = "medical-tasks site share {folder}; medical-tasks site pool FILE FILE FILE --out {folder}/pooled"
_CHECK: Final = "medical-tasks site check {folder}"


@dataclass(frozen=True, kw_only=True)
class EvidenceLine:
    """A question of a framework.

    Attributes:
        key: the unique name of the line for programs.
        framework: the framework that asks.
        item: the framework's item.
        question: the question in our words.
        find: the function that finds the figures; it returns none if nothing was
            measured.
        how: the command that measures it, or what a person does.
        uses: the uses to which the question applies; none for all.
    """

    key: str
    framework: str
    item: str
    question: str
    find: Finder
    how: str
    uses: tuple[str, ...] = ()


_SUMMARY: Final = ("discharge-summary",)
_JUDGED: Final = ("discharge-summary", "chart-qa", "patient-questions")

LINES: Final[tuple[EvidenceLine, ...]] = (
    EvidenceLine(
        key="chai-completeness",
        framework=CHAI,
        item="completeness",
        question="How much of what a clinician's own summary says does the model's say?",
        find=finding.metrics("claim_recall"),
        how=_RUN,
        uses=_SUMMARY,
    ),
    EvidenceLine(
        key="chai-conciseness",
        framework=CHAI,
        item="conciseness",
        question="How much of what the model says does the clinician's summary bear out?",
        find=finding.metrics("claim_precision"),
        how=_RUN,
        uses=_SUMMARY,
    ),
    EvidenceLine(
        key="chai-attribution",
        framework=CHAI,
        item="attribution",
        question="Are the model's sentences borne out by what they cite, and are all citations needed?",
        find=finding.metrics("citation_recall", "citation_precision"),
        how=_RUN,
        uses=_SUMMARY,
    ),
    EvidenceLine(
        key="chai-answers",
        framework=CHAI,
        item="correctness",
        question="How many answers are right?",
        find=finding.metrics("accuracy"),
        how=_RUN,
        uses=("chart-qa", "calculator"),
    ),
    EvidenceLine(
        key="chai-advice",
        framework=CHAI,
        item="completeness",
        question="How much of what a clinician would say does the answer say?",
        find=finding.metrics("comprehensiveness"),
        how=_RUN,
        uses=("patient-questions",),
    ),
    EvidenceLine(
        key="chai-harm",
        framework=CHAI,
        item="safety",
        question="How often does an answer contradict or invent?",
        find=finding.harms,
        how=_RUN,
        uses=("discharge-summary", "calculator", "patient-questions"),
    ),
    EvidenceLine(
        key="chai-counterfactual",
        framework=CHAI,
        item="fairness, counterfactual by group",
        question="Does the score change when one attribute of the same patients is changed?",
        find=finding.counterfactual,
        how=_SWAP,
        uses=_JUDGED,
    ),
    EvidenceLine(
        key="chai-parity",
        framework=CHAI,
        item="fairness, subgroup parity",
        question="How far apart are groups of patients?",
        find=finding.parity,
        how=_STRATA,
    ),
    EvidenceLine(
        key="chai-reliability",
        framework=CHAI,
        item="reliability, 25 evaluations of the same answer",
        question="Does the same answer get the same verdict again?",
        find=finding.reliability,
        how=_EVALUATIONS,
        uses=_JUDGED,
    ),
    EvidenceLine(
        key="chai-repeats",
        framework=CHAI,
        item="reliability, the same question again",
        question="How far do the model's own answers vary?",
        find=finding.repeatability,
        how=_REPEATS,
    ),
    EvidenceLine(
        key="chai-judge",
        framework=CHAI,
        item="agreement of the judge with people",
        question="Does the judge decide as the site's clinicians do?",
        find=finding.judge_agreement,
        how=_JUDGE,
        uses=_JUDGED,
    ),
    EvidenceLine(
        key="chai-raters",
        framework=CHAI,
        item="agreement among people",
        question="Do two clinicians label alike?",
        find=finding.rater_agreement,
        how=_JUDGE,
        uses=_JUDGED,
    ),
    EvidenceLine(
        key="chai-calibration",
        framework=CHAI,
        item="calibration (ECE)",
        question="Is the model right as often as it says?",
        find=finding.calibration,
        how=_CONFIDENCE,
    ),
    EvidenceLine(
        key="chai-sites",
        framework=CHAI,
        item="generality, cross-site difference",
        question="How far do hospitals differ?",
        find=finding.cross_site,
        how=_POOL,
    ),
    EvidenceLine(
        key="ruaih-validation",
        framework=RUAIH,
        item="validation on the site's own data",
        question="How good is the model on this site's notes?",
        find=finding.main_metrics,
        how=_RUN,
    ),
    EvidenceLine(
        key="ruaih-comparator",
        framework=RUAIH,
        item="validation against what is in use",
        question="How does it differ from the baseline on the same items?",
        find=finding.against_baseline,
        how=_BASELINE,
    ),
    EvidenceLine(
        key="ruaih-decision",
        framework=RUAIH,
        item="governance, the decision and its rules",
        question="What was decided, by which rules?",
        find=finding.decision,
        how=_GATE,
    ),
    EvidenceLine(
        key="ruaih-bias",
        framework=RUAIH,
        item="bias",
        question="How does each group of patients fare?",
        find=finding.group_figures,
        how=_STRATA,
    ),
    EvidenceLine(
        key="ruaih-monitoring",
        framework=RUAIH,
        item="monitoring",
        question="Is the model still as good as when it was accepted?",
        find=finding.monitoring,
        how=_MONITOR,
    ),
    EvidenceLine(
        key="ruaih-data",
        framework=RUAIH,
        item="privacy of the data",
        question="Does text of patients stand in what is handed on?",
        find=finding.no_text,
        how=_CHECK,
    ),
    EvidenceLine(
        key="act-accuracy",
        framework=AI_ACT,
        item="Article 15, levels of accuracy",
        question="Which accuracy is declared, by which metric?",
        find=finding.main_metrics,
        how=_RUN,
    ),
    EvidenceLine(
        key="act-robustness",
        framework=AI_ACT,
        item="Article 15, robustness",
        question="Is the result the same when the question is put again?",
        find=finding.repeatability,
        how=_REPEATS,
    ),
    EvidenceLine(
        key="act-failures",
        framework=AI_ACT,
        item="Article 15, failures",
        question="How many questions get an answer, and one that can be scored?",
        find=finding.coverage,
        how=_RUN,
    ),
    EvidenceLine(
        key="act-log",
        framework=AI_ACT,
        item="Article 12, records",
        question="Is it recorded when what was decided, and can a change of the record be seen?",
        find=finding.logbook,
        how=_GATE,
    ),
    EvidenceLine(
        key="act-system",
        framework=AI_ACT,
        item="Annex IV, the system that was tested",
        question="Which model, in which version of the test?",
        find=finding.system,
        how=_RUN,
    ),
    EvidenceLine(
        key="act-data",
        framework=AI_ACT,
        item="Annex IV 2(g), test data",
        question="On which data was it tested, and can that be checked?",
        find=finding.test_data,
        how=_RUN,
    ),
    EvidenceLine(
        key="act-groups",
        framework=AI_ACT,
        item="Annex IV 3, groups of persons",
        question="How good is it for each group?",
        find=finding.group_figures,
        how=_STRATA,
    ),
    EvidenceLine(
        key="act-discrimination",
        framework=AI_ACT,
        item="Annex IV 2(g), discriminatory impact",
        question="Does an attribute of a patient alone change the result?",
        find=finding.counterfactual,
        how=_SWAP,
        uses=_JUDGED,
    ),
    EvidenceLine(
        key="nhs-hazards",
        framework=DCB0129,
        item="hazards found",
        question="Which answers are the worst, by type of harm?",
        find=finding.hazards,
        how=_RUN,
    ),
    EvidenceLine(
        key="nhs-rate",
        framework=DCB0129,
        item="likelihood",
        question="How often does it happen?",
        find=finding.likelihood,
        how=_RUN,
    ),
    EvidenceLine(
        key="nhs-control",
        framework=DCB0129,
        item="control: the release",
        question="Which rule would have stopped the release?",
        find=finding.decision,
        how=_GATE,
    ),
    EvidenceLine(
        key="nhs-groups",
        framework=DCB0129,
        item="control: the worst group",
        question="Which group is worst off, by the rules of the release?",
        find=finding.worst_group,
        how="preset standard or strict and strata in site.toml, then " + _GATE,
    ),
    EvidenceLine(
        key="nhs-surveillance",
        framework=DCB0129,
        item="control: surveillance after release",
        question="Would it be noticed if the model became worse?",
        find=finding.monitoring,
        how=_MONITOR,
    ),
)
"""Every line, in the order of the page; TRIPOD-LLM's are those of its export."""
