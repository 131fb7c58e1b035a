"""ArchEHR-QA's prompts, and its protocol of questions that are repeated with the reply's faults.

Soni and Demner-Fushman 2025, Validation and figure 2. The paper prints none of its
prompts; the texts (`prompts.json`) are ours, written from the protocol's facts. This
module also writes gold as an answer.

A faulty reply (its first 1,200 characters) is shown to the model again with its faults:
empty; too long (except in the second step); no citations; wrong form; unknown ids (for
evidence first, also sentences that were not shown); answer changed (second step;
capitals and punctuation may differ). The last reply is scored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.archehr_qa.declarations import WORD_LIMIT
from medical_tasks.benchmarks.archehr_qa.evidence import (
    Chooser,
    note_sentences,
    open_chooser,
    read_arguments,
)
from medical_tasks.benchmarks.archehr_qa.parsing import (
    EMPTY,
    TOO_LONG,
    WRONG_FORM,
    citation_groups,
    read_answer,
    unfenced,
)
from medical_tasks.errors import UsageError
from medical_tasks.io.files import one_line, packaged
from medical_tasks.scoring.reasoning import without_reasoning
from medical_tasks.scoring.sentences import split_sentences
from medical_tasks.spec import (
    Ask,
    Dialogue,
    Done,
    Item,
    Message,
    MultiStep,
    PromptSet,
    Records,
    TaskSpec,
    Turn,
    texts_sha256,
)

QUESTION_WORDS: Final = 15
"""Largest number of words of a clinician's question."""

_TRIED: Final = ("together", "answer_first", "evidence_first")
_SECOND_STEP: Final = {"answer_first": ("cite",)}


texts = partial(packaged, __file__, "prompts.json")
"""The keys of `asked` are values of `options["steps"]` (`cite` is the second step of
`answer_first`), else of `options["form"]`."""


def gold_cited_answer(item: Item) -> str:
    """Writes the clinician's answer in the official form, with at most 75 words.

    It cites all essential sentences and no others. Without an answer, it consists of the
    essential sentences; without a key, the citations are the clinician's.
    """
    fields = item.fields
    lines = list(fields["answer_sentences"])
    cited = [_ids(text) for text in fields["answer_citations"]] or [[] for _ in lines]
    if fields["relevance"]:
        essential = _essential(item)
        if not lines:
            texts = dict(zip(fields["sentence_ids"], fields["sentences"], strict=True))
            lines = [texts[name] for name in essential]
            cited = [[name] for name in essential]

        cited = [[name for name in ids if name in essential] for ids in cited]
        if lines:
            cited[-1] += [
                name for name in essential if not any(name in ids for ids in cited)
            ]

    return _official(lines, cited, order=fields["sentence_ids"])


def _alignment(item: Item) -> str:
    """The citations of the clinician's answer, with one line per sentence: `1: 3,4`."""
    cited = item.fields["answer_citations"]
    return "\n".join(
        f"{number}: {','.join(_ids(text))}".rstrip()
        for number, text in enumerate(cited, start=1)
    )


def _essential(item: Item) -> list[str]:
    fields = item.fields
    labels = fields["relevance"]
    if not labels:
        return []
    return [
        name
        for name, label in zip(fields["sentence_ids"], labels, strict=True)
        if label == "essential"
    ]


def _official(
    lines: Sequence[str], cited: Sequence[Sequence[str]], *, order: Sequence[str]
) -> str:
    """Writes an answer in the official form: one sentence per line, its ids between bars.

    At most 75 words are kept. Ids of a line without remaining words go to the line
    before it, or to the first one with words.

    Example: the lines `He bled.`, blank and `He went home.`, citing 2, 1 and nothing,
    are written `He bled. |1,2|` and `He went home.`
    """
    positions = {name: position for position, name in enumerate(order)}
    written_lines: list[tuple[str, set[str]]] = []
    carried: set[str] = set()
    left = WORD_LIMIT
    for line, ids in zip(lines, cited, strict=True):
        words = line.split()[:left]
        if words:
            written_lines.append((" ".join(words), {*ids, *carried}))
            carried = set()
            left -= len(words)
        elif written_lines:
            written_lines[-1][1].update(ids)
        else:
            carried.update(ids)

    written = [
        (text, sorted(ids, key=positions.__getitem__)) for text, ids in written_lines
    ]
    return "\n".join(
        f"{text} |{','.join(ids)}|" if ids else text for text, ids in written
    )


def _ids(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


_GOLD: Final[Mapping[str, Callable[[Item], str]]] = {
    "question": lambda item: one_line(item.fields["clinician_question"]),
    "evidence": lambda item: ",".join(_essential(item)),
    "answer": lambda item: one_line(item.fields["clinician_answer"]),
    "alignment": _alignment,
}


def load_prompts(
    task: TaskSpec,
    name: str = "own",
    upstream: Path | None = None,
    *,
    arguments: Mapping[str, str] | None = None,
) -> PromptSet:
    """Builds the prompts of a task; `own` is the only set.

    With `evidence_first`, the chosen sentences are an item's `sources`.
    """
    if name == "official":
        raise UsageError(
            f"{task.name} has no official prompts: the paper describes its prompts and prints "
            "none of them. Use --prompts own."
        )

    if name != "own":
        raise UsageError(f"unknown prompt set {name!r} for {task.name}. Sets: own.")

    kind = task.options.get("steps") or task.options["form"]
    if kind not in texts()["asked"]:
        raise UsageError(
            f"{task.name} is answered without a model. Use --model baseline/heuristic, or a task "
            "for models such as "
            "archehr_together."
        )

    settings = read_arguments(task, arguments or {})
    chooser = (
        open_chooser(settings.embedder, settings.evidence)
        if kind == "evidence_first"
        else None
    )

    def render(item: Item) -> tuple[Message, ...]:
        shown = chooser.choose(item) if chooser else None
        return ({"role": "user", "content": question_text(kind, item, shown=shown)},)

    return PromptSet(
        name=name,
        sha256=_digest(kind),
        render=render,
        settings=chooser.settings if chooser else {},
        sources=chooser.choose if chooser else None,
    )


def question_text(
    kind: str,
    item: Item,
    *,
    shown: Collection[str] | None = None,
    answer: Collection[str] | None = None,
) -> str:
    """Writes one question.

    Args:
        kind: a key of `asked` in `prompts.json`.
        item: the case.
        shown: ids of the note's sentences to show; by default all.
        answer: sentences of the answer to `cite`.
    """
    labels, fields = texts()["labels"], item.fields

    def numbered(ids: Iterable[object], sentences: Iterable[str]) -> list[str]:
        pairs = zip(ids, sentences, strict=False)
        return [
            labels["sentence"].format(number=name, text=text)
            for name, text in pairs
            if shown is None or name in shown
        ]

    inputs = {
        "patient": fields["patient_narrative"].strip()
        or fields["patient_question"].strip()
    }
    if kind != "question":
        inputs["clinician"] = one_line(fields["clinician_question"])
        inputs["note"] = "\n".join(
            numbered(fields["sentence_ids"], note_sentences(item))
        )

    if kind == "alignment":
        answer = numbered(count(1), map(one_line, fields["answer_sentences"]))

    inputs["answer"] = "\n".join(answer or ())
    labelled = (
        labels[label].format(text=text) for label, text in inputs.items() if text
    )
    return "\n\n".join((*texts()["asked"][kind].values(), *labelled))


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as an answer in the task's form; "" if it is not released."""
    if "steps" in task.options:
        return gold_cited_answer(item)
    return _GOLD[task.options["form"]](item)


def _digest(kind: str) -> str:
    wording = texts()
    asked_texts: list[str] = []
    for step in (kind, *_SECOND_STEP.get(kind, ())):
        asked_texts += [step, *wording["asked"][step].values()]

    feedback = wording["feedback"].values() if kind in _TRIED else ()
    return texts_sha256(*asked_texts, *wording["labels"].values(), *feedback)


_SHOWN_REPLY: Final = 1_200
_SHOWN_IDS: Final = 10
_SHOWN_ID: Final = 12


def cited_faults(
    reply: str, known_ids: Collection[str], *, answer: Sequence[str] | None = None
) -> list[str]:
    """The faults of an answer with citations.

    If citations were to be added to an `answer`, its length is no fault.
    """
    wording, read = texts()["feedback"], read_answer(reply, known_ids)
    if EMPTY in read.problems:
        return [wording["empty"]]

    faults = []
    if answer is not None and not same_words(
        written_sentences(reply, known_ids), answer
    ):
        faults.append(wording["changed"])

    if TOO_LONG in read.problems and answer is None:
        faults.append(wording["too_long"].format(words=read.words, limit=WORD_LIMIT))

    # From the whole reply: an answer that is too long may cite after the words that
    # count.
    cited = cited_ids(reply, known_ids)
    if not cited:
        faults.append(wording["no_citations"])
    if WRONG_FORM in read.problems:
        faults.append(wording["wrong_form"])
    if unknown := [name for name in cited if name not in known_ids]:
        faults.append(wording["unknown_ids"].format(ids=_listed(unknown)))

    return faults


def uncited_faults(reply: str, known_ids: Collection[str]) -> list[str]:
    """The faults of an answer that gets citations later: empty, or too long. Its own citations do not matter."""
    wording = texts()["feedback"]
    sentences = written_sentences(reply, known_ids)
    words = sum(len(sentence.split()) for sentence in sentences)
    if not words:
        return [wording["empty"]]

    return (
        [wording["too_long"].format(words=words, limit=WORD_LIMIT)]
        if words > WORD_LIMIT
        else []
    )


def feedback_text(reply: str, faults: Sequence[str], *, number: int, tries: int) -> str:
    """Writes the feedback below a repeated question; of a long reply it shows the beginning."""
    wording, reply_text = texts()["feedback"], reply.strip()
    shown = (
        reply_text
        if len(reply_text) <= _SHOWN_REPLY
        else reply_text[:_SHOWN_REPLY].rstrip() + wording["cut"]
    )
    wrong = "\n".join(
        (wording["wrong"], *(f"- {fault}" for fault in faults), wording["again"])
    )
    head = wording["try"].format(number=number, tries=tries)

    return f"{head}\n{shown or wording['nothing']}\n\n{wrong}"


def _listed(ids: Sequence[str]) -> str:
    cut = texts()["feedback"]["cut"]
    shown = [
        name if len(name) <= _SHOWN_ID else name[:_SHOWN_ID] + cut
        for name in ids[:_SHOWN_IDS]
    ]
    return ", ".join(shown) + (cut if len(ids) > _SHOWN_IDS else "")


_WORD: Final = re.compile(r"\w+")


def written_sentences(reply: str, known_ids: Collection[str]) -> tuple[str, ...]:
    """The sentences of a reply, without citations; a sentence ends with its line, or by `scoring.sentences`."""
    sentences: list[str] = []
    for line in _lines(reply):
        start, bare = 0, ""
        for group in citation_groups(line, known_ids):
            bare += line[start : group.start].rstrip()
            start = group.end

        sentences += map(one_line, split_sentences(bare + line[start:]))

    return tuple(sentences)


def cited_ids(reply: str, known_ids: Collection[str]) -> tuple[str, ...]:
    """The ids that a reply cites anywhere, in order of first mention."""
    groups = [
        group for line in _lines(reply) for group in citation_groups(line, known_ids)
    ]
    return tuple(dict.fromkeys(name for group in groups for name in group.ids))


def same_words(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether two texts have the same words in order, apart from capitals, marks and line ends."""
    words, others = (
        _WORD.findall(" ".join(lines).casefold()) for lines in (first, second)
    )
    return words == others


def _lines(reply: str) -> list[str]:
    return [
        line.strip() for line in unfenced(without_reasoning(reply).strip()).split("\n")
    ]


def open_protocol(
    task: TaskSpec, *, arguments: Mapping[str, str] | None = None
) -> MultiStep:
    """Opens the protocol of a task, with the same arguments as its prompts."""
    settings = read_arguments(task, arguments or {})
    chooser = (
        open_chooser(settings.embedder, settings.evidence)
        if task.protocol == "evidence_first"
        else None
    )
    return GroundedAnswer(task.protocol, tries=settings.tries, chooser=chooser)


class GroundedAnswer:
    """Asks in one step or two (`answer_first`), and again while a reply has faults.

    The next turn depends only on the replies so far.
    """

    def __init__(
        self, steps: str, *, tries: int, chooser: Chooser | None = None
    ) -> None:
        self._steps, self._tries, self._chooser = steps, tries, chooser
        self.identity: Mapping[str, object] = {
            "name": steps,
            "version": 1,
            "tries": tries,
        }

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Accepts each last reply, or repeats the question with its faults."""
        return [self._turn(dialogue) for dialogue in dialogues]

    def _turn(self, dialogue: Dialogue) -> Turn:
        """Decides after a reply: ask again with its faults, ask for citations, or stop.

        With `answer_first` the first replies are answers without citations, until one
        has no faults or the tries are used up. Its sentences are then fixed, and later
        replies only cite. The last reply counts whatever its faults: the protocol
        repairs answers, and never drops one.
        """
        known_ids = (
            self._chooser.choose(dialogue.item)
            if self._chooser
            else tuple(dialogue.item.fields["sentence_ids"])
        )
        opening, replies = dialogue.opening, dialogue.answers
        answer: tuple[str, ...] | None = None
        if self._steps == "answer_first":
            tried = [
                uncited_faults(reply, known_ids) for reply in replies[: self._tries]
            ]
            accepted = next(
                (
                    number
                    for number, faults in enumerate(tried, 1)
                    if not faults or number == self._tries
                ),
                0,
            )
            if not accepted:
                return self._again(opening, replies, tried[-1])

            answer = written_sentences(replies[accepted - 1], known_ids)
            if not answer:
                return Done(replies[accepted - 1])  # nothing to cite

            question = question_text("cite", dialogue.item, answer=answer)
            opening = ({"role": "user", "content": question},)
            replies = replies[accepted:]
            if not replies:
                return Ask(opening)

        faults = cited_faults(replies[-1], known_ids, answer=answer)
        return (
            self._again(opening, replies, faults)
            if faults and len(replies) < self._tries
            else Done(replies[-1])
        )

    def _again(
        self,
        opening: tuple[Message, ...],
        replies: Sequence[str],
        faults: Sequence[str],
    ) -> Ask:
        feedback = feedback_text(
            without_reasoning(replies[-1]).strip(),
            faults,
            number=len(replies) + 1,
            tries=self._tries,
        )
        *before, question = opening
        return Ask(
            (
                *before,
                {
                    "role": question["role"],
                    "content": f"{question['content']}\n\n{feedback}",
                },
            )
        )
