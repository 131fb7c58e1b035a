"""Synthetic twins of a release: `python -m measurements.archehr_twin --out FOLDER --dev 20 --test 100`.

The same seed and numbers give the same bytes. Lengths are near those of the paper
(section Results).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from measurements.twin_files import run_program, twin_parser
from medical_tasks.benchmarks.archehr_qa.data import FOLDERS, SPLITS
from medical_tasks.benchmarks.archehr_qa.declarations import WORD_LIMIT
from medical_tasks.benchmarks.archehr_qa.release import (
    KEY_FILE,
    LABELS,
    NOTE_SOURCES,
    AnswerSentence,
    Case,
    CaseKey,
    Document,
    FullCase,
    Sentence,
)
from medical_tasks.construct.archehr.release_files import release_texts
from medical_tasks.errors import UsageError
from medical_tasks.io.files import packaged

_SENTENCES = (18, 34)
_ESSENTIAL, _SUPPLEMENTARY, _NOT_RELEVANT = LABELS


_texts = partial(packaged, __file__, "archehr_twin_topics.json")
"""Invented courses (`topics`), and texts of all; braces hold numbers that are drawn for each case.

`facts` are a sentence of the note and the same as an answer says it; `closings` of an answer rest on nothing.
"""


def twin_cases(*, seed: int, cases: int, first: int = 1) -> list[FullCase]:
    """Generates cases; each depends only on the seed and its number, which is counted from `first`."""
    if cases < 1:
        raise UsageError(f"a twin needs at least 1 case, got {cases}.")
    return [
        _case(random.Random(f"{seed}-{number}"), number)
        for number in range(first, first + cases)
    ]


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
    """Writes a twin of a release for `--source`; a split of 0 cases is left out, and splits outside of `keys` have no key."""
    counts = dict(zip(SPLITS, (dev, test, test_2026), strict=True))
    if min(counts.values()) < 0 or not any(counts.values()):
        raise UsageError(
            f"a twin needs 0 or more cases in each split and 1 in all, got {', '.join(map(str, counts.values()))}."
        )
    first = 1
    for split, count in counts.items():
        if count:
            cases = twin_cases(seed=seed, cases=count, first=first)
            write_split(
                folder / FOLDERS[split], cases, key=split in keys, answers=answers
            )
        first += count
    return folder


def _case(draw: random.Random, number: int) -> FullCase:
    texts = _texts()
    topic = texts["topics"][number % len(texts["topics"])]
    values = {"age": str(draw.randrange(19, 90)), "his": draw.choice(("his", "her"))}
    values |= {
        name: str(draw.randrange(*of))
        for name, of in (("a", (11, 20)), ("b", (3, 10)), ("c", (12, 20)), ("d", (10,)))
    }
    ask = topic["ask"].format_map(values)
    story = [draw.choice(texts["openings"]), topic["story"]]
    narrative = " ".join([*(sentence.format_map(values) for sentence in story), ask])
    paragraphs, essential = _paragraphs(draw, topic, values)
    sentences: list[Sentence] = []
    relevance: dict[str, str] = {}
    for paragraph_id, paragraph in enumerate(paragraphs):
        for text, label in paragraph:
            name = str(len(sentences) + 1)
            sentences.append(
                Sentence(id=name, paragraph_id=str(paragraph_id), text=text)
            )
            relevance[name] = label
    answer = _answer(
        topic,
        values,
        {
            sentence.text: sentence.id
            for sentence in sentences
            if sentence.text in essential
        },
    )
    return FullCase(
        case=Case(
            id=str(number),
            narrative=narrative,
            phrases=(ask,),
            clinician_question=topic["question"].format_map(values),
            sentences=tuple(sentences),
        ),
        key=CaseKey(
            relevance=relevance,
            clinician_answer=" ".join(sentence.text for sentence in answer),
            answer_sentences=answer,
            cited=True,
        ),
        document=Document(
            id=f"{9_000_000 + number}", source=NOTE_SOURCES[topic["emergency"]]
        ),
    )


def _paragraphs(
    draw: random.Random, topic: Mapping[str, Any], values: Mapping[str, str]
) -> tuple[list[list[tuple[str, str]]], set[str]]:
    headings, others = _texts()["headings"], _texts()["fillers"]
    essential = [text.format_map(values) for text, _ in topic["facts"]]
    chosen = [(text, _ESSENTIAL) for text in essential]
    chosen += [(text.format_map(values), _SUPPLEMENTARY) for text in topic["more"]]
    fillers = draw.randrange(*_SENTENCES) - len(chosen) - len(headings)
    chosen += [
        (text.format_map(values), _NOT_RELEVANT)
        for text in draw.sample(others, min(fillers, len(others)))
    ]
    draw.shuffle(chosen)
    paragraphs: list[list[tuple[str, str]]] = []
    for index, heading in enumerate(headings):
        block = chosen[
            len(chosen) * index // len(headings) : len(chosen)
            * (index + 1)
            // len(headings)
        ]
        paragraphs += [
            [(heading, _NOT_RELEVANT)],
            block[: len(block) // 2],
            block[len(block) // 2 :],
        ]
    return [paragraph for paragraph in paragraphs if paragraph], set(essential)


def _answer(
    topic: Mapping[str, Any], values: Mapping[str, str], ids: Mapping[str, str]
) -> tuple[AnswerSentence, ...]:
    """Writes each fact, then sentences without evidence; facts beyond the word limit are cited by the last sentence that fits."""
    sentences: list[tuple[str, list[str]]] = []
    words = 0
    for note, statement in topic["facts"]:
        text, name = statement.format_map(values), ids[note.format_map(values)]
        words += len(text.split())
        if words <= WORD_LIMIT:
            sentences.append((text, [name]))
        else:
            sentences[-1][1].append(name)
    for text in _texts()["closings"]:
        words += len(text.split())
        if words <= WORD_LIMIT:
            sentences.append((text, []))
    return tuple(
        AnswerSentence(id=str(number), text=text, citations=tuple(cited))
        for number, (text, cited) in enumerate(sentences, start=1)
    )


def main(words: Sequence[str] | None = None) -> int:
    """Writes a twin; returns the exit code."""
    parser = twin_parser("archehr_twin")
    for split, count, description in (
        ("dev", 20, "20; 0 for no dev"),
        ("test", 100, "100; 0 for no test"),
    ):
        parser.add_argument(
            f"--{split}",
            type=int,
            default=count,
            metavar="N",
            help=f"cases of {split} (default {description})",
        )
    description = "cases of test_2026 (default 0, as in releases before 2026)"
    parser.add_argument(
        "--test-2026", type=int, default=0, metavar="N", help=description
    )
    parser.add_argument(
        "--no-answers",
        action="store_true",
        help="keys without clinicians' answers, as in the first releases",
    )
    parser.add_argument(
        "--no-test-key",
        action="store_true",
        help="no keys but for dev, as during the shared tasks",
    )
    options = parser.parse_args(words)
    counts = {split: getattr(options, split) for split in SPLITS}
    keys = SPLITS[:1] if options.no_test_key else SPLITS
    folder = write_twin(
        options.out,
        seed=options.seed,
        **counts,
        keys=keys,
        answers=not options.no_answers,
    )
    print(
        f"wrote {options.dev:,} cases of dev, {options.test:,} of test and {options.test_2026:,} of test_2026 in {folder}"
    )
    return 0


def write_split(
    folder: Path, cases: Sequence[FullCase], *, key: bool = True, answers: bool = True
) -> Path:
    """Writes the three files of a split; releases during a shared task leave the key out for `test`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in release_texts(cases, answers=answers).items():
        if key or name != KEY_FILE:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


if __name__ == "__main__":
    run_program(main)
