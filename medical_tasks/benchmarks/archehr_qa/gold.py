"""The gold of an item, written as a model would answer.

A cited answer is the clinician's, sentence by sentence, citing exactly the essential sentences: supplementary ones, which a
clinician may cite, are left out, and an essential one that the clinician does not cite is cited by the last sentence. Where no
clinician's answer is released, essential sentences stand for it, in the order of the note. Either is cut at 75 words, behind which
nothing counts; what the rest would have cited, the last sentence that is left cites.
"""

from __future__ import annotations

from collections.abc import Sequence

from medical_tasks.benchmarks.archehr_qa.evidence import one_line
from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT
from medical_tasks.spec import Item

__all__ = ["gold_alignment", "gold_answer", "gold_cited_answer", "gold_evidence", "gold_question"]


def gold_cited_answer(item: Item) -> str:
    """Writes an answer of the official form whose citations are the essential sentences.

    Args:
        item: with a key, an answer, or both.

    Returns:
        At most 75 words. Without a key the citations are the clinician's; "" where neither is released.
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


def gold_question(item: Item) -> str:
    """Writes the clinician's question; "" where it is not released."""
    return one_line(item.fields["clinician_question"])


def gold_evidence(item: Item) -> str:
    """Writes the ids of the essential sentences, with commas."""
    return ",".join(_essential(item))


def gold_answer(item: Item) -> str:
    """Writes the clinician's answer without citations; "" where it is not released."""
    return one_line(item.fields["clinician_answer"])


def gold_alignment(item: Item) -> str:
    """Writes what each sentence of the clinician's answer cites, a line a sentence: `1: 3,4`; "" where it is not released."""
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
