"""How the questions of ArchEHR-QA are put (paper, Validation and figure 2), put again with what is wrong, and answered by the gold.

One message of the user: what is given, what to do, how to reply, then the patient's message, the clinician's question and the
sentences of the note behind their numbers. Feedback stands below the whole question again: which try it is, the last reply, and a
line for each fault. The number of the try makes every question of a case another one, so that each try is asked, and a resumed run
finds each in the store.

The paper describes its prompts and prints none of them (table S3 is another step's), so there is no set to load. The texts are
ours, written from the protocol's facts: at most 75 words, about five sentences, each with what it rests on between two bars.

A gold answer is the clinician's, sentence by sentence, citing exactly the essential sentences: supplementary ones, which a
clinician may cite, are left out, and an essential one that is not cited is cited by the last sentence. Where no clinician's answer
is released, essential sentences stand for it, in the order of the note. Either is cut at 75 words; what the rest would have cited,
the last sentence that is left cites.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.archehr_qa.evidence import note_sentences, one_line, open_chooser, read_arguments
from medical_tasks.benchmarks.archehr_qa.parsing import (
    EMPTY,
    TOO_LONG,
    WRONG_FORM,
    Group,
    bracket_groups,
    pipe_groups,
    read_answer,
    unfenced,
)
from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT
from medical_tasks.errors import UsageError
from medical_tasks.scoring.reasoning import spoken
from medical_tasks.scoring.sentences import split_sentences
from medical_tasks.spec import Item, Message, PromptSet, TaskSpec

QUESTION_WORDS: Final = 15
"""Most words of a clinician's question."""


@dataclass(frozen=True, kw_only=True)
class Texts:
    """What is said for one kind of question: what stands below, what to do, and how to reply."""

    given: str
    task: str
    form: str


PATIENT: Final = "Message:\n{text}"

CLINICIAN: Final = "Clinician's question: {text}"

NOTE: Final = "Note:\n{text}"

ANSWER: Final = "Answer:\n{text}"

SENTENCE: Final = "{number}: {text}"

_GIVEN: Final = (
    "A patient, or somebody close to one, has written about a stay in hospital. Below are the message, the question that a "
    "clinician takes from it, and {note}, one sentence a line, each behind its number."
)
_EXCERPT: Final = "an excerpt of the note of that stay"
_CHOSEN: Final = (
    "some sentences of the note of that stay, chosen because they are like the questions, so that not all of "
    "them matter"
)

_ANSWERING: Final = (
    "Answer the clinician's question, and with it what the message asks, from the note and nothing else. Say what matters for "
    "the answer, in plain and neutral sentences, and leave out the rest of the note."
)
_CITING: Final = (
    "Cite for each sentence of the answer the sentences of the note that it rests on: all that it needs, and no others."
)
_LIMIT: Final = f"at most {WORD_LIMIT} words, which is about five sentences"
_LINES: Final = (
    "Each sentence stands on a line of its own and ends with the numbers of what it cites, between two bars and with commas, "
    "like this:\nHer kidneys were failing before the operation. |3,4|\nNumbers do not count as words. Reply with these lines "
    "and nothing else: no heading, no list, no marks around them."
)

TEXTS: Final[Mapping[str, Texts]] = {
    "together": Texts(
        given=_GIVEN.format(note=_EXCERPT), task=f"{_ANSWERING} {_CITING}", form=f"The answer has {_LIMIT}. {_LINES}"
    ),
    "evidence_first": Texts(
        given=_GIVEN.format(note=_CHOSEN), task=f"{_ANSWERING} {_CITING}", form=f"The answer has {_LIMIT}. {_LINES}"
    ),
    "answer_first": Texts(
        given=_GIVEN.format(note=_EXCERPT),
        task=_ANSWERING,
        form=(
            f"The answer has {_LIMIT}. Each sentence stands on a line of its own. Do not cite yet: no numbers of sentences. Reply "
            "with these lines and nothing else: no heading, no list, no marks around them."
        ),
    ),
    "cite": Texts(
        given=_GIVEN.format(note=_EXCERPT) + " Then comes an answer, one sentence a line.",
        task=_CITING,
        form=f"Repeat the answer as it is, word by word. {_LINES}",
    ),
    "question": Texts(
        given="A patient, or somebody close to one, has written about a stay in hospital. Below is the message.",
        task=(
            "Put into one question what a clinician would take from it and look up in the note of that stay: what has to be "
            "answered so that the message is."
        ),
        form=f"The question has at most {QUESTION_WORDS} words. Reply with it and nothing else.",
    ),
    "evidence": Texts(
        given=_GIVEN.format(note=_EXCERPT),
        task=(
            "Say which sentences of the note must be used to answer the clinician's question, and with it what the message asks. "
            "Those that only add to an answer, or have no part in it, are left out."
        ),
        form="Reply with the numbers of these sentences and nothing else, on one line and with commas, like this:\n3,4,9",
    ),
    "answer": Texts(
        given=_GIVEN.format(note=_EXCERPT),
        task=_ANSWERING,
        form=f"The answer has {_LIMIT}. Do not cite. Reply with the answer and nothing else.",
    ),
    "alignment": Texts(
        given=_GIVEN.format(note=_EXCERPT)
        + " Then comes an answer, likewise one sentence a line, each behind its number.",
        task="Say for each sentence of the answer which sentences of the note it rests on: all that it needs, and no others.",
        form=(
            "Reply with a line for each sentence of the answer and nothing else: its number, a colon, and the numbers of the "
            "note's sentences with commas; nothing behind the colon where it rests on none. Like this:\n1: 3,4\n2: 9"
        ),
    ),
}
"""By `options["steps"]`, or `options["form"]` where a task has no steps; and the second step of `answer_first`."""


def gold_cited_answer(item: Item) -> str:
    """Writes an answer of the official form whose citations are the essential sentences, at most 75 words.

    Without a key the citations are the clinician's; "" where neither is released.
    """
    fields = item.fields
    lines = list(fields["answer_sentences"])
    cited = [_ids(text) for text in fields["answer_citations"]] or [[] for _ in lines]
    if fields["relevance"]:
        essential = _essential(item)
        if not lines:
            texts = dict(zip(fields["sentence_ids"], fields["sentences"], strict=True))
            lines, cited = [texts[each] for each in essential], [[each] for each in essential]
        cited = [[each for each in ids if each in essential] for ids in cited]
        if lines:
            cited[-1] += [each for each in essential if not any(each in ids for ids in cited)]
    return _official(lines, cited, order=fields["sentence_ids"])


def _alignment(item: Item) -> str:
    """What each sentence of the clinician's answer cites, a line a sentence: `1: 3,4`."""
    cited = item.fields["answer_citations"]
    return "\n".join(f"{number}: {','.join(_ids(text))}".rstrip() for number, text in enumerate(cited, start=1))


def _essential(item: Item) -> list[str]:
    fields = item.fields
    labels = fields["relevance"]
    if not labels:
        return []
    return [each for each, label in zip(fields["sentence_ids"], labels, strict=True) if label == "essential"]


def _official(lines: Sequence[str], cited: Sequence[Sequence[str]], *, order: Sequence[str]) -> str:
    """Writes sentences and citations in the official form, cut at the limit."""
    places = {each: place for place, each in enumerate(order)}
    made: list[tuple[str, set[str]]] = []
    carried: set[str] = set()
    left = WORD_LIMIT
    for line, ids in zip(lines, cited, strict=True):
        words = line.split()[:left]
        if words:
            made.append((" ".join(words), {*ids, *carried}))
            carried = set()
            left -= len(words)
        elif made:
            made[-1][1].update(ids)
        else:
            carried.update(ids)
    written = [(text, sorted(ids, key=places.__getitem__)) for text, ids in made]
    return "\n".join(f"{text} |{','.join(ids)}|" if ids else text for text, ids in written)


def _ids(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


PROMPT_SETS: Final = ("own",)

_GOLD: Final[Mapping[str, Callable[[Item], str]]] = {
    "question": lambda item: one_line(item.fields["clinician_question"]),
    "evidence": lambda item: ",".join(_essential(item)),
    "answer": lambda item: one_line(item.fields["clinician_answer"]),
    "alignment": _alignment,
}
_TRIED: Final = ("together", "answer_first", "evidence_first")
_SECOND_STEP: Final[Mapping[str, str]] = {"answer_first": "cite"}


def load_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None, *, arguments: Mapping[str, str] | None = None
) -> PromptSet:
    """Makes the prompts of a task; `own` is the only set.

    `options["steps"]` says how an answer and its citations are asked for; without it `options["form"]` what is asked. The
    prompts of `evidence_first` have the sentences chosen for an item as its `sources`, and `settings` that say how they are
    chosen.
    """
    if name == "official":
        raise UsageError(
            f"{task.name} has no official prompts: the paper describes its prompts and prints none of them. Use --prompts own."
        )
    if name not in PROMPT_SETS:
        raise UsageError(f"unknown prompt set {name!r} for {task.name}. Sets: {', '.join(PROMPT_SETS)}.")
    kind = task.options.get("steps") or task.options["form"]
    if kind not in TEXTS:
        raise UsageError(
            f"{task.name} is answered without a model. Use --model baseline/heuristic, or a task for models such as "
            "archehr_together."
        )
    settings = read_arguments(task, arguments or {})
    if kind == "evidence_first":
        chooser = open_chooser(settings.embedder, settings.evidence)
        return PromptSet(
            name=name,
            sha256=_digest(kind),
            render=lambda item: _asked(question_text(kind, item, shown=chooser.choose(item))),
            settings=chooser.settings,
            sources=chooser.choose,
        )
    return PromptSet(name=name, sha256=_digest(kind), render=lambda item: _asked(question_text(kind, item)))


def question_text(
    kind: str, item: Item, *, shown: Collection[str] | None = None, answer: Collection[str] | None = None
) -> str:
    """Writes one question of a kind of `TEXTS`, with the sentences of the note that are shown; all by default.

    For `cite`, `answer` has the sentences that are to be cited; `alignment` has the clinician's. What an item does not have
    (a clinician's question, say) is left out with its label.
    """
    texts, fields = TEXTS[kind], item.fields
    message = fields["patient_narrative"].strip() or fields["patient_question"].strip()
    parts = [texts.given, texts.task, texts.form, _part(PATIENT, message)]
    if kind != "question":
        ids = zip(fields["sentence_ids"], note_sentences(item), strict=True)
        note = [_numbered(each, text) for each, text in ids if shown is None or each in shown]
        parts.append(_part(CLINICIAN, one_line(fields["clinician_question"])))
        parts.append(_part(NOTE, "\n".join(note)))
    if kind == "alignment":
        written = enumerate(map(one_line, fields["answer_sentences"]), start=1)
        parts.append(_part(ANSWER, "\n".join(_numbered(str(number), text) for number, text in written)))
    elif answer is not None:
        parts.append(_part(ANSWER, "\n".join(answer)))
    return "\n\n".join(part for part in parts if part)


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as an answer of the task's form; "" where it is not released."""
    if "steps" in task.options:
        return gold_cited_answer(item)
    return _GOLD[task.options["form"]](item)


def _asked(text: str) -> tuple[Message, ...]:
    return ({"role": "user", "content": text},)


def _part(label: str, text: str) -> str:
    return label.format(text=text) if text else ""


def _numbered(number: str, text: str) -> str:
    return SENTENCE.format(number=number, text=text)


def _digest(kind: str) -> str:
    """Hashes all texts of a task's questions: of both its steps, and of what is said about a faulty reply."""
    kinds = [kind, _SECOND_STEP[kind]] if kind in _SECOND_STEP else [kind]
    said = [part for each in kinds for part in (each, TEXTS[each].given, TEXTS[each].task, TEXTS[each].form)]
    labels = (PATIENT, CLINICIAN, NOTE, ANSWER, SENTENCE)
    told = SAID if kind in _TRIED else ()
    return hashlib.sha256("\0".join((*said, *labels, *told)).encode()).hexdigest()


_TRY: Final = "This is try {number} of {tries}. The reply before was:"
_NOTHING: Final = "(nothing)"
_CUT: Final = " [...]"
_WRONG: Final = "What is wrong with it:"
_AGAIN: Final = "Write the whole reply again with this put right."

_EMPTY: Final = "It is empty."
_NO_CITATIONS: Final = (
    "It cites nothing. End each line with the numbers of the sentences of the note that it rests on, between two bars: "
    "|3,4|"
)
_WRONG_FORM: Final = (
    "Its form is wrong. Each sentence stands on a line of its own, and the line ends with its numbers, with commas and "
    "nothing else between two bars, like |3,4|; one such group a line, no other brackets, no ranges, nothing behind the last "
    "bar, and no marks around the answer."
)
_TOO_LONG: Final = "It is too long: it has {words} words, and at most {limit} are allowed."
_UNKNOWN_IDS: Final = "It cites numbers that no sentence given here has: {ids}."
_CHANGED: Final = "It changes the answer. Repeat the answer's sentences word by word, all of them and in their order."

SAID: Final = (
    _TRY,
    _NOTHING,
    _CUT,
    _WRONG,
    _AGAIN,
    _EMPTY,
    _NO_CITATIONS,
    _WRONG_FORM,
    _TOO_LONG,
    _UNKNOWN_IDS,
    _CHANGED,
)
"""All texts of this module, for the prompts' hash."""

_SHOWN_REPLY: Final = 1_200
_SHOWN_IDS: Final = 10
_SHOWN_ID: Final = 12


def cited_faults(reply: str, known_ids: Collection[str], *, answer: Sequence[str] | None = None) -> list[str]:
    """Finds what is wrong with an answer that cites, a sentence for each fault; of an empty one only that.

    `answer` has the sentences that were to be cited and not changed; their length is not held against the reply.
    """
    read = read_answer(reply, known_ids)
    if EMPTY in read.problems:
        return [_EMPTY]
    faults = []
    if answer is not None and not same_words(written_sentences(reply, known_ids), answer):
        faults.append(_CHANGED)
    if TOO_LONG in read.problems and answer is None:
        faults.append(_TOO_LONG.format(words=read.words, limit=WORD_LIMIT))
    # As written: an answer that is too long may cite behind the words that count.
    cited = cited_ids(reply, known_ids)
    if not cited:
        faults.append(_NO_CITATIONS)
    if WRONG_FORM in read.problems:
        faults.append(_WRONG_FORM)
    if unknown := [each for each in cited if each not in known_ids]:
        faults.append(_UNKNOWN_IDS.format(ids=_listed(unknown)))
    return faults


def uncited_faults(reply: str, known_ids: Collection[str]) -> list[str]:
    """Finds what is wrong with an answer that is cited later: it is empty, or too long. Citations that it has play no part."""
    words = sum(len(sentence.split()) for sentence in written_sentences(reply, known_ids))
    if not words:
        return [_EMPTY]
    return [_TOO_LONG.format(words=words, limit=WORD_LIMIT)] if words > WORD_LIMIT else []


def feedback_text(reply: str, faults: Sequence[str], *, number: int, tries: int) -> str:
    """Writes what stands below the question when it is put again; of a long reply the beginning is shown."""
    said = reply.strip() or _NOTHING
    shown = said if len(said) <= _SHOWN_REPLY else said[:_SHOWN_REPLY].rstrip() + _CUT
    wrong = "\n".join((_WRONG, *(f"- {fault}" for fault in faults)))
    return "\n\n".join((f"{_TRY.format(number=number, tries=tries)}\n{shown}", f"{wrong}\n{_AGAIN}"))


def _listed(ids: Sequence[str]) -> str:
    shown = [each if len(each) <= _SHOWN_ID else each[:_SHOWN_ID] + _CUT for each in ids[:_SHOWN_IDS]]
    return ", ".join(shown) + (_CUT if len(ids) > _SHOWN_IDS else "")


_WORD: Final = re.compile(r"\w+")


def written_sentences(reply: str, known_ids: Collection[str]) -> tuple[str, ...]:
    """Takes the sentences out of a reply, without citations. A line ends a sentence; within it `scoring.sentences` does."""
    bare = [_uncited(line, known_ids) for line in _lines(reply)]
    return tuple(one_line(sentence) for line in bare for sentence in split_sentences(line))


def cited_ids(reply: str, known_ids: Collection[str]) -> tuple[str, ...]:
    """Takes the ids that a reply cites, anywhere in it, in order of first mention."""
    groups = [group for line in _lines(reply) for group in _groups(line, known_ids)]
    return tuple(dict.fromkeys(each for group in groups for each in group.ids))


def same_words(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two texts have the same words in the same order; capitals, marks and line ends play no part."""
    return _words(some) == _words(others)


def _lines(reply: str) -> list[str]:
    return [line.strip() for line in unfenced(spoken(reply).strip()).split("\n")]


def _groups(line: str, known_ids: Collection[str]) -> list[Group]:
    return pipe_groups(line, known_ids) or bracket_groups(line, known_ids)


def _uncited(line: str, known_ids: Collection[str]) -> str:
    parts: list[str] = []
    start = 0
    for group in _groups(line, known_ids):
        parts.append(line[start : group.start].rstrip())
        start = group.end
    return "".join((*parts, line[start:]))


def _words(texts: Sequence[str]) -> list[str]:
    return _WORD.findall(" ".join(texts).casefold())
