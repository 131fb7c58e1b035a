"""K-QA's judge prompts about a statement, and the readers of the replies.

Manes et al. 2024, section 4 and appendix D.2. Our prompts were written from the facts
of the protocol (docs/kqa_scoring.md); `official` reads the authors' two files from the
user's checkout. Everything shared by the statements of one answer comes before the
statement, so that servers with a prefix cache read it once. The readers guess nothing.

Our prompts ask one question per statement, for `{"reason": "...", "verdict": "entailed"
| "contradicted" | "neither"}`: unrelated or insufficient is neither, not mentioning
something does not rule it out, a compound statement is entailed only as a whole, and
the answer is judged, not the truth. The answer is one JSON string. A judge that quotes
an injected verdict is asked again; one that repeats it alone is fooled. With `--judging
batched` one call judges all statements of an answer (201 calls), matched by id as in
DocLens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.kqa.declarations import DATASET
from medical_tasks.data.dataset_source import repository_file
from medical_tasks.data.task_data import check_prompt_set
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import one_line, packaged, read_text, readable
from medical_tasks.judges.base import (
    ENTAILS,
    LABELS,
    JudgePrompts,
    Label,
    Pair,
    Question,
    Unreadable,
)
from medical_tasks.judges.judged import user_message
from medical_tasks.judges.reading import (
    boolean,
    explanation,
    object_reader,
    one_of,
    quoted,
    read_closing_claim,
    read_verdicts,
    schema_of,
    schema_of_verdicts,
)
from medical_tasks.spec import TaskSpec, texts_sha256

_TEXTS: Final[Mapping[str, str]] = packaged(__file__, "judge_prompts.json")
"""The slots have the names of the authors' files: `llm_answer` is the judged answer, `answer` the
statement."""

AGAIN: Final = _TEXTS["again"]
OFFICIAL_AGAIN: Final = _TEXTS["official_again"]

OFFICIAL_FILES: Final[Mapping[str, str]] = {
    "entails": "is_entails.txt",
    "contradicts": "is_contradict.txt",
}
"""The authors' files by their question."""

_SLOTS: Final = ("{question}", "{llm_answer}", "{answer}")
_OWN: Final = {kind: _TEXTS[kind] for kind in ("single", "batched", "abstention")}


def load_judge_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None
) -> JudgePrompts:
    """Loads the judge's prompts: `single`, `batched` and `abstention`.

    The official ones are `entails` and `contradicts`, read from `upstream` (a checkout
    of the authors' repository, or the folder with their two files), and our
    `abstention`, as the authors have none.
    """
    check_prompt_set(task, name, what="set of judge prompts")
    texts = dict(_OWN)
    if name == "official":
        texts = {
            kind: _official_text(upstream, file)
            for kind, file in OFFICIAL_FILES.items()
        }
        texts["abstention"] = _OWN["abstention"]

    sha256 = texts_sha256(*chain.from_iterable(texts.items()), AGAIN, OFFICIAL_AGAIN)
    return JudgePrompts(name=name, sha256=sha256, texts=texts)


def _official_text(upstream: Path | None, name: str) -> str:
    path = repository_file(
        upstream, f"evaluation/prompts/{name}", repository=DATASET.homepage
    )
    with readable(path, again="Download it again.", error=MissingError):
        text = read_text(path)

    wrong = [slot for slot in _SLOTS if text.count(slot) != 1]
    if wrong:
        raise UsageError(
            f"{path}: a prompt of the authors has each of {', '.join(_SLOTS)} once; here "
            f"{wrong[0]} appears "
            f"{text.count(wrong[0])} times. Download it again."
        )

    return text


_WORDS: Final[Mapping[str, Label]] = {
    "entailed": "entailment",
    "contradicted": "contradiction",
    "neither": "neutral",
}
"""The verdicts in our prompts, with their labels."""

VERDICTS: Final = tuple(f'"{word}"' for word in _WORDS)
"""The verdicts as our prompts write them."""

BATCH_LABELS = tuple[tuple[str, Label], ...]
"""Value of a batched verdict: id and label of each statement with a verdict."""

_VERDICT: Final = {"reason": explanation, "verdict": one_of(*_WORDS)}
_ANSWERED: Final = {"reason": explanation, "answered": boolean}
_SCHEMAS: Final = {
    "single": schema_of(_VERDICT),
    "abstention": schema_of(_ANSWERED),
}
_ALL_LABELS: Final[Mapping[Label, Label]] = {label: label for label in LABELS}
_CONTRADICTS: Final[Mapping[Label, bool]] = {
    # Without `not_entailment`, which leaves open whether the answer contradicts.
    "entailment": False,
    "neutral": False,
    "contradiction": True,
}
_REPLY_TOKENS: Final = 512
_ENTRY_TOKENS: Final = 96


read_single = object_reader(_VERDICT, lambda value: _WORDS[value["verdict"]])
"""Reads the verdict on one statement."""

read_answered = object_reader(_ANSWERED, lambda value: bool(value["answered"]))
"""Reads whether there is an answer at all."""


def read_batched(text: str, ids: Sequence[str]) -> BATCH_LABELS | Unreadable:
    """Reads the labels of several statements, in the order of `ids`; some may be missing (`read_verdicts`)."""
    verdicts = read_verdicts(text, _VERDICT, ids)
    if isinstance(verdicts, Unreadable):
        return verdicts
    return tuple(
        (name, _WORDS[verdicts[name]["verdict"]]) for name in ids if name in verdicts
    )


def label_is_true(text: str) -> bool:
    """The authors' label (`evaluation/run_eval.py`): "true" in the last 20 characters, in lower case; so also "not true"."""
    return "true" in text.lower()[-20:]


def counts_as_contradiction(text: str) -> bool:
    """Whether the authors' script counts a reply in Hall: "True" anywhere in it ("the answer is true." does not count)."""
    return "True" in text


def _question(
    prompts: JudgePrompts,
    kind: str,
    name: str,
    read: Callable[[str], object],
    values: Mapping[str, str],
    *,
    tokens: int = _REPLY_TOKENS,
    pair: Pair | None = None,
) -> Question:
    text = prompts.texts[kind]
    again = OFFICIAL_AGAIN if kind in OFFICIAL_FILES else AGAIN
    return Question(
        id=name,
        messages=user_message(text, values),
        # only this kind's texts, so that changes of others do not matter
        template=texts_sha256(text, again),
        read=read,
        again=again,
        max_tokens=tokens,
        pair=pair,
        schema=_SCHEMAS.get(kind),
    )


def single_question(
    prompts: JudgePrompts, name: str, *, question: str, answer: str, statement: str
) -> Question:
    """Asks about one statement; the value is a label."""
    pair = Pair(
        premise=answer.strip(), hypothesis=statement.strip(), values=_ALL_LABELS
    )
    texts = {
        "question": one_line(question),
        "llm_answer": quoted(pair.premise),
        "answer": one_line(statement),
    }
    return _question(prompts, "single", name, read_single, texts, pair=pair)


def batched_question(
    prompts: JudgePrompts,
    name: str,
    *,
    question: str,
    answer: str,
    statements: Sequence[tuple[str, str]],
) -> Question:
    """Asks about several statements, given with their ids; the value is a tuple of ids and labels."""
    lines = "\n".join(
        f"{statement_id}: {one_line(statement)}"
        for statement_id, statement in statements
    )
    texts = {
        "question": one_line(question),
        "llm_answer": quoted(answer.strip()),
        "answer": lines,
    }
    ids = [statement_id for statement_id, _ in statements]
    tokens = _REPLY_TOKENS + _ENTRY_TOKENS * len(statements)
    request = _question(
        prompts, "batched", name, partial(read_batched, ids=ids), texts, tokens=tokens
    )

    return replace(request, schema=schema_of_verdicts(_VERDICT, ids))


def abstention_question(
    prompts: JudgePrompts, name: str, *, question: str, answer: str
) -> Question:
    """Asks whether there is an answer at all; the value is a bool. Entailment models cannot be asked."""
    texts = {"question": one_line(question), "llm_answer": quoted(answer.strip())}
    return _question(prompts, "abstention", name, read_answered, texts)


def official_question(
    prompts: JudgePrompts,
    name: str,
    kind: str,
    *,
    question: str,
    answer: str,
    statement: str,
) -> tuple[Question, Question]:
    """Asks one of the authors' two questions (`entails`, `contradicts`).

    Returns:
        The question with our strict reader, and the same with the rule of the authors'
        script, which uses the first reply only. Both share that reply; the values are
        bools.
    """
    values = ENTAILS if kind == "entails" else _CONTRADICTS
    pair = Pair(premise=answer.strip(), hypothesis=statement.strip(), values=values)
    read = partial(read_closing_claim, of_statement=kind == "entails")
    # all texts unchanged
    texts = {"question": question, "llm_answer": answer, "answer": statement}
    strict = _question(prompts, kind, name, read, texts, pair=pair)
    script_rule = label_is_true if kind == "entails" else counts_as_contradiction

    return strict, replace(
        strict, id=f"{name}/official", read=script_rule, once=True, pair=None
    )
