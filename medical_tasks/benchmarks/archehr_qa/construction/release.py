"""The official files of annotated cases, which the dataset's builder reads like those of PhysioNet."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from medical_tasks.benchmarks.archehr_qa.construction.cases import AnswerSentence, OwnCase, excerpt_text, offsets
from medical_tasks.benchmarks.archehr_qa.construction.readings import phrase_places
from medical_tasks.benchmarks.archehr_qa.key_file import KEY_FILE
from medical_tasks.benchmarks.archehr_qa.mapping_file import MAPPING_FILE
from medical_tasks.benchmarks.archehr_qa.xml_cases import CASES_FILE
from medical_tasks.data.construction_files import make_folder
from medical_tasks.io.files import WholeFile

__all__ = ["answer_text", "split_cases", "write_release"]

_SPLITS: Final = ("dev", "test")
_ENDS: Final = ".!?"


def split_cases(cases: Sequence[OwnCase], *, dev: int, seed: int) -> dict[str, list[OwnCase]]:
    """Draws the cases on which prompts may be developed; all cases of a message are in the same split.

    Args:
        cases: all of them.
        dev: how many at most.
        seed: decides which.

    Returns:
        The splits `dev` and `test`, each in the order of the cases.
    """
    by_post: dict[str, list[OwnCase]] = {}
    for case in cases:
        by_post.setdefault(case.post_id, []).append(case)
    drawn: set[str] = set()
    for post in sorted(by_post, key=lambda post: hashlib.sha256(f"{seed}:{post}".encode()).digest()):
        if len(drawn) + len(by_post[post]) <= dev:
            drawn |= {case.id for case in by_post[post]}
    return {split: [case for case in cases if (case.id in drawn) == (split == "dev")] for split in _SPLITS}


def write_release(folder: Path, splits: Mapping[str, Sequence[OwnCase]], *, note_source: str = "") -> None:
    """Writes cases, key and mapping of each split, for their owner alone; those of an empty split are taken away.

    Args:
        folder: of the release.
        splits: name to cases, all of them annotated.
        note_source: `mimic-iii` or `mimic-iv`; the mapping knows no others and is written for these alone.
    """
    make_folder(folder)
    for split in _SPLITS:
        cases = splits.get(split, ())
        place = folder / split
        if not cases:
            for name in (CASES_FILE, KEY_FILE, MAPPING_FILE):
                (place / name).unlink(missing_ok=True)
            continue
        make_folder(place)
        with WholeFile(place / KEY_FILE, private=True) as part:
            part.write(json.dumps([_key(case) for case in cases], indent=1) + "\n")
        if note_source:
            documents = [
                {"case_id": case.id, "document_id": case.document_id, "document_source": note_source} for case in cases
            ]
            with WholeFile(place / MAPPING_FILE, private=True) as part:
                part.write(json.dumps(documents, indent=1) + "\n")
        else:
            (place / MAPPING_FILE).unlink(missing_ok=True)
        with WholeFile(place / CASES_FILE, private=True) as part:
            for line in _xml(cases):
                part.write(line + "\n")


def _xml(cases: Sequence[OwnCase]) -> Iterator[str]:
    yield "<annotations>"
    for case in cases:
        said = case.annotation
        yield f'  <case id="{case.id}">'
        yield _element("patient_narrative", case.narrative)
        yield "    <patient_question>"
        for number, (phrase, place) in enumerate(
            zip(said.phrases, phrase_places(case.narrative, said.phrases), strict=True)
        ):
            yield _element("phrase", phrase, id=str(number), start_char_index=str(place))
        yield "    </patient_question>"
        yield _element("clinician_question", said.question)
        yield _element("note_excerpt", excerpt_text(case.sentences))
        yield "    <note_excerpt_sentences>"
        for sentence, offset in zip(case.sentences, offsets(case.sentences), strict=True):
            places = {"id": sentence.id, "paragraph_id": sentence.paragraph, "start_char_index": str(offset)}
            yield _element("sentence", sentence.text, **places)
        yield "    </note_excerpt_sentences>"
        yield "  </case>"
    yield "</annotations>"


def _element(name: str, text: str, **attributes: str) -> str:
    head = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"    <{name}{head}>\n{escape(text)}\n    </{name}>"


def _key(case: OwnCase) -> dict[str, Any]:
    said = case.annotation
    record: dict[str, Any] = {
        "case_id": case.id,
        "answers": [{"sentence_id": name, "relevance": label} for name, label in said.labels.items()],
    }
    if said.answer:
        record |= {
            "clinician_answer": answer_text(said.answer, cited=True),
            "clinician_answer_without_citations": answer_text(said.answer),
            "clinician_answer_sentences": [
                {"id": str(number), "text": each.text, "citations": ",".join(each.citations)}
                for number, each in enumerate(said.answer, start=1)
            ],
        }
    return record


def answer_text(answer: Sequence[AnswerSentence], *, cited: bool = False) -> str:
    """Writes an answer as one text.

    Args:
        answer: its sentences.
        cited: whether citations stand before the end of each sentence, in brackets.
    """
    return " ".join(_sentence(each) if cited and each.citations else each.text for each in answer)


def _sentence(sentence: AnswerSentence) -> str:
    body = sentence.text.rstrip(_ENDS)
    return f"{body} [{','.join(sentence.citations)}]{sentence.text[len(body) :]}"
