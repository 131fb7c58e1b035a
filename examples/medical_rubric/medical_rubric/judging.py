"""Each criterion, decided by a judge on the whole conversation; points with their sign."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from medical_rubric.declarations import DATASET, TAGS
from medical_tasks.data.dataset_source import repository_file
from medical_tasks.data.upstream_source import parse_python
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import JudgePrompts, Judging, Pair, Question, Unscored, Verdict
from medical_tasks.judges.reading import boolean, explanation, object_reader, schema_of
from medical_tasks.spec import Answer, Counts, Item, ItemScore, Message, Row, Verdicts, texts_sha256

ASK = (
    "Somebody talks with an assistant about health:\n\n<<conversation>>\n\nLook at the assistant's "
    "last message. Is this true of it? It may be a fault, and is true if the message has the "
    "fault.\n\n<<rubric_item>>\n\nReply with a JSON object and nothing else: explanation (a "
    "sentence) and criteria_met (true or false)."
)
AGAIN = "That cannot be read ({problem}). Reply with one JSON object: explanation, criteria_met."
FORM = {"explanation": explanation, "criteria_met": boolean}


def load_judge_prompts(name: str, upstream: Path | None) -> JudgePrompts:
    """Ours, or the authors' template out of their checkout, whose file is read and never run."""
    ask = ASK if name == "own" else _official(upstream)
    return JudgePrompts(name=name, sha256=texts_sha256(ask, AGAIN), texts={"ask": ask})


def _official(upstream: Path | None) -> str:
    path = repository_file(upstream, "healthbench_eval.py", repository=DATASET.homepage)
    wrong = UsageError(f"{path}: has no text GRADER_TEMPLATE. Get the repository again.")
    for node in parse_python(path, lambda _: wrong).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GRADER_TEMPLATE":
            texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
            return str(next(texts, "")).strip()
    raise wrong


def question(
    name: str, chat: Sequence[Message], reply: str, criterion: str, prompts: JudgePrompts
) -> Question:
    """Asks whether a criterion is met by the reply to a conversation."""
    talk = "\n\n".join(f"{each['role']}: {each['content']}" for each in chat)
    talk += f"\n\nassistant: {reply}"
    before, _, behind = prompts.texts["ask"].partition("<<conversation>>")
    text = f"{before}{talk}{behind.replace('<<rubric_item>>', criterion)}"
    return Question(
        id=name,
        messages=(Message(role="user", content=text),),
        template=prompts.sha256,
        read=object_reader(FORM, lambda found: found["criteria_met"]),
        again=AGAIN,
        pair=Pair(premise=talk, hypothesis=criterion),
        schema=schema_of(FORM),
    )


def score_items(
    items: Sequence[Item], answers: Sequence[Answer], judging: Judging
) -> list[ItemScore]:
    """The points of each answer."""
    pairs = list(zip(items, answers, strict=True))
    asked = [each for pair in pairs for each in _questions(*pair, judging.prompts)]
    outcomes = iter(judging.judge.ask(asked))
    return [_score(item, [next(outcomes) for _ in item.fields["rubrics"]]) for item in items]


def _questions(item: Item, answer: Answer, prompts: JudgePrompts) -> Iterator[Question]:
    for n, rubric in enumerate(item.fields["rubrics"]):
        text = f"[{rubric['points']:g}] {rubric['criterion']}"
        yield question(f"{item.id}/{n}", item.fields["prompt"], answer.text, text, prompts)


def point_limits(item: Item) -> Mapping[str, tuple[float, float]]:
    """The least and the most that a reply can earn, in all and of the criteria with a tag."""
    limits = {}
    for name, rubrics in _by_tag(item.fields["rubrics"]).items():
        points = [rubric["points"] for rubric in rubrics]
        if most := sum(point for point in points if point > 0):
            limits[name] = (sum(point for point in points if point < 0) / most, 1.0)
    return limits


def _by_tag(rubrics: Sequence[Row]) -> dict[str, Sequence[Row]]:
    """The criteria of each metric."""
    tagged = {tag: [rubric for rubric in rubrics if tag in rubric["tags"]] for tag in TAGS}
    return {"points": rubrics, **tagged}


def _score(item: Item, outcomes: Sequence[Verdict | Unscored]) -> ItemScore:
    judged = [
        {**rubric, "verdicts": _verdicts(rubric["points"], outcome)}
        for rubric, outcome in zip(item.fields["rubrics"], outcomes, strict=True)
    ]
    counts = {
        name: Counts(how="points", verdicts=tuple(each["verdicts"] for each in rubrics))
        for name, rubrics in _by_tag(judged).items()
    }
    missing = [outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)]
    return ItemScore.counted(counts, id=item.id, unscored=missing[0] if missing else None)


def _verdicts(points: float, outcome: Verdict | Unscored) -> Verdicts:
    return Verdicts(
        kind="plus" if points > 0 else "minus",
        hits=float(isinstance(outcome, Verdict) and outcome.value),
        known=int(isinstance(outcome, Verdict)),
        missing=int(isinstance(outcome, Unscored)),
        weight=points,
    )
