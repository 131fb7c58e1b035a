"""Synthetic twins of a release, any number of cases: the same files and shapes, invented courses.

    python -m medical_tasks.benchmarks.archehr_qa.twin --out FOLDER --dev 20 --test 100 --test-2026 47

The same seed and numbers give the same bytes. Lengths are near those of the paper (section Results): about 26 sentences a case,
a quarter of them essential or nearly, a fifth supplementary, and answers of up to 75 words that cite every essential sentence.
"""

from __future__ import annotations

import argparse
import html
import itertools
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.archehr_qa.data import FOLDERS, SPLITS
from medical_tasks.benchmarks.archehr_qa.release import (
    CASES_FILE,
    KEY_FILE,
    LABELS,
    MAPPING_FILE,
    NOTE_SOURCES,
    AnswerSentence,
    Case,
    CaseKey,
    Document,
    FullCase,
    Sentence,
)
from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT
from medical_tasks.errors import MedicalTasksError, UsageError

_SENTENCES = (18, 34)
_ESSENTIAL, _SUPPLEMENTARY, _NOT_RELEVANT = LABELS


@dataclass(frozen=True, kw_only=True)
class _Topic:
    """An invented course. Braces hold numbers that are drawn for each case, the same in the note and in the answer."""

    emergency: bool  # a visit to the emergency department, not an inpatient stay
    story: str  # before the question
    ask: str
    question: str  # as a clinician would put it
    facts: list[tuple[str, str]]  # what answers it: a sentence of the note, and the same as an answer says it
    more: list[str]  # sentences that support it


@dataclass(frozen=True, kw_only=True)
class _Texts:
    topics: list[_Topic]
    openings: list[str]
    headings: list[str]
    fillers: list[str]
    closings: list[str]  # sentences of an answer that rest on nothing, as many as there is room for


@cache
def _texts() -> _Texts:
    content = json.loads(Path(__file__).with_name("twin_topics.json").read_text(encoding="utf-8"))
    return _Texts(**content | {"topics": [_Topic(**topic) for topic in content["topics"]]})


def twin_cases(*, seed: int, cases: int, first: int = 1) -> list[FullCase]:
    """Generates cases; the seed with a case's number, counted from `first`, decides all of it."""
    if cases < 1:
        raise UsageError(f"a twin needs at least 1 case, got {cases}.")
    return [_case(random.Random(f"{seed}-{number}"), number) for number in range(first, first + cases)]  # noqa: S311


def write_twin(
    folder: Path,
    *,
    seed: int,
    dev: int = 20,
    test: int = 100,
    test_2026: int = 0,
    keys: Sequence[str] = SPLITS,
    answers: bool = True,
) -> Path:
    """Writes a twin of a release for `--source`; a split of 0 cases is left out.

    `keys` names the splits that have a key; `answers` says whether keys have the clinicians' answers.
    """
    counts = dict(zip(SPLITS, (dev, test, test_2026), strict=True))
    if min(counts.values()) < 0 or not any(counts.values()):
        raise UsageError(
            f"a twin needs 0 or more cases in each split and 1 in all, got {', '.join(map(str, counts.values()))}."
        )
    first = 1
    for split, count in counts.items():
        if count:
            made = twin_cases(seed=seed, cases=count, first=first)
            write_split(folder / FOLDERS[split], made, key=split in keys, answers=answers)
        first += count
    return folder


def _case(draw: random.Random, number: int) -> FullCase:
    texts = _texts()
    topic = texts.topics[number % len(texts.topics)]
    values = {
        "age": str(draw.randrange(19, 90)),
        "his": draw.choice(("his", "her")),
        "a": str(draw.randrange(11, 20)),
        "b": str(draw.randrange(3, 10)),
        "c": str(draw.randrange(12, 20)),
        "d": str(draw.randrange(10)),
    }
    ask = topic.ask.format_map(values)
    story = [draw.choice(texts.openings), topic.story]
    narrative = " ".join([*(each.format_map(values) for each in story), ask])
    paragraphs, essential = _paragraphs(draw, topic, values)
    sentences: list[Sentence] = []
    relevance: dict[str, str] = {}
    for paragraph_id, paragraph in enumerate(paragraphs):
        for text, label in paragraph:
            name = str(len(sentences) + 1)
            sentences.append(Sentence(id=name, paragraph_id=str(paragraph_id), text=text))
            relevance[name] = label
    answer = _answer(topic, values, {each.text: each.id for each in sentences if each.text in essential})
    return FullCase(
        case=Case(
            id=str(number),
            narrative=narrative,
            phrases=(ask,),
            clinician_question=topic.question.format_map(values),
            sentences=tuple(sentences),
        ),
        key=CaseKey(
            relevance=relevance,
            clinician_answer=" ".join(each.text for each in answer),
            answer_sentences=answer,
            cited=True,
        ),
        document=Document(id=f"{9_000_000 + number}", source=NOTE_SOURCES[topic.emergency]),
    )


def _paragraphs(
    draw: random.Random, topic: _Topic, values: Mapping[str, str]
) -> tuple[list[list[tuple[str, str]]], set[str]]:
    """Sentences with their labels, a heading alone and two blocks below each; and the texts of the essential ones."""
    headings, others = _texts().headings, _texts().fillers
    essential = [text.format_map(values) for text, _ in topic.facts]
    chosen = [(text, _ESSENTIAL) for text in essential]
    chosen += [(text.format_map(values), _SUPPLEMENTARY) for text in topic.more]
    fillers = draw.randrange(*_SENTENCES) - len(chosen) - len(headings)
    chosen += [(text.format_map(values), _NOT_RELEVANT) for text in draw.sample(others, min(fillers, len(others)))]
    draw.shuffle(chosen)
    paragraphs: list[list[tuple[str, str]]] = []
    for place, heading in enumerate(headings):
        block = chosen[len(chosen) * place // len(headings) : len(chosen) * (place + 1) // len(headings)]
        paragraphs += [[(heading, _NOT_RELEVANT)], block[: len(block) // 2], block[len(block) // 2 :]]
    return [paragraph for paragraph in paragraphs if paragraph], set(essential)


def _answer(topic: _Topic, values: Mapping[str, str], ids: Mapping[str, str]) -> tuple[AnswerSentence, ...]:
    """Each fact as an answer says it, and what rests on nothing; facts without room left are cited by the last that has some."""
    made: list[tuple[str, list[str]]] = []
    words = 0
    for note, said in topic.facts:
        text, name = said.format_map(values), ids[note.format_map(values)]
        words += len(text.split())
        if words <= WORD_LIMIT:
            made.append((text, [name]))
        else:
            made[-1][1].append(name)
    for text in _texts().closings:
        words += len(text.split())
        if words <= WORD_LIMIT:
            made.append((text, []))
    return tuple(
        AnswerSentence(id=str(number), text=text, citations=tuple(cited))
        for number, (text, cited) in enumerate(made, start=1)
    )


def main(words: Sequence[str] | None = None) -> int:
    """Writes a twin; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m medical_tasks.benchmarks.archehr_qa.twin",
        description="Write synthetic files in the shape of the official ones.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same bytes (default 0)")
    parser.add_argument("--dev", type=int, default=20, metavar="N", help="cases of dev (default 20; 0 for no dev)")
    parser.add_argument("--test", type=int, default=100, metavar="N", help="cases of test (default 100; 0 for no test)")
    parser.add_argument(
        "--test-2026",
        type=int,
        default=0,
        metavar="N",
        help="cases of test_2026 (default 0, as in releases before 2026)",
    )
    parser.add_argument(
        "--no-answers", action="store_true", help="keys without clinicians' answers, as in the first releases"
    )
    parser.add_argument("--no-test-key", action="store_true", help="no keys but for dev, as during the shared tasks")
    given = parser.parse_args(words)
    keys = SPLITS[:1] if given.no_test_key else SPLITS
    folder = write_twin(
        given.out,
        seed=given.seed,
        dev=given.dev,
        test=given.test,
        test_2026=given.test_2026,
        keys=keys,
        answers=not given.no_answers,
    )
    print(f"wrote {given.dev:,} cases of dev, {given.test:,} of test and {given.test_2026:,} of test_2026 in {folder}")
    return 0


def write_split(folder: Path, cases: Sequence[FullCase], *, key: bool = True, answers: bool = True) -> Path:
    """Writes the three files of a split.

    Releases during a shared task leave the key out for `test`, and the first releases the clinicians' answers.
    """
    folder.mkdir(parents=True, exist_ok=True)
    body = "".join(_case_element(each.case) for each in cases)
    (folder / CASES_FILE).write_text(f"<annotations>\n{body}</annotations>\n", encoding="utf-8")
    mapping = [
        {"case_id": each.case.id, "document_id": each.document.id, "document_source": each.document.source}
        for each in cases
    ]
    files: dict[str, list[dict[str, Any]]] = {MAPPING_FILE: mapping}
    if key:
        files[KEY_FILE] = [_key(each.case.id, each.key, answers=answers) for each in cases]
    for name, records in files.items():
        (folder / name).write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    return folder


def _case_element(case: Case) -> str:
    paragraphs = [list(group) for _, group in itertools.groupby(case.sentences, key=lambda each: each.paragraph_id)]
    phrases = "".join(
        _element("phrase", text, {"id": str(number), "start_char_index": str(case.narrative.index(text))}, depth=3)
        for number, text in enumerate(case.phrases)
    )
    sentences = "".join(itertools.chain.from_iterable(_sentences(each) for each in paragraphs))
    excerpt = "\n\n".join(" ".join(each.text for each in paragraph) for paragraph in paragraphs)
    inner = (
        _element("patient_narrative", case.narrative, {})
        + f"        <patient_question>\n{phrases}        </patient_question>\n"
        + _element("clinician_question", case.clinician_question, {})
        + _element("note_excerpt", excerpt, {})
        + f"        <note_excerpt_sentences>\n{sentences}        </note_excerpt_sentences>\n"
    )
    return f'    <case id="{html.escape(case.id)}">\n{inner}    </case>\n'


def _sentences(paragraph: Sequence[Sentence]) -> Iterator[str]:
    offset = 0
    for each in paragraph:
        attributes = {"id": each.id, "paragraph_id": each.paragraph_id, "start_char_index": str(offset)}
        yield _element("sentence", each.text, attributes, depth=3)
        offset += len(each.text) + 1


def _element(name: str, text: str, attributes: Mapping[str, str], *, depth: int = 2) -> str:
    indent = "    " * depth
    marks = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"{indent}<{name}{marks}>\n{html.escape(text, quote=False)}\n{indent}</{name}>\n"


def _key(case_id: str, key: CaseKey, *, answers: bool) -> dict[str, Any]:
    labels = [{"sentence_id": name, "relevance": label} for name, label in key.relevance.items()]
    record: dict[str, Any] = {"case_id": case_id, "answers": labels}
    if answers:
        sentences = key.answer_sentences
        record |= {
            "clinician_answer": " ".join(_marked(each.text, each.citations) for each in sentences),
            "clinician_answer_without_citations": key.clinician_answer,
            "clinician_answer_sentences": [
                {"id": each.id, "text": each.text, "citations": ",".join(each.citations)} for each in sentences
            ],
        }
    return record


def _marked(text: str, citations: Sequence[str]) -> str:
    """A sentence with its citations before its last sign, as clinicians wrote them (paper, table 1)."""
    return f"{text[:-1]} [{','.join(citations)}]{text[-1:]}" if citations else text


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
