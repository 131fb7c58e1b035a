"""How probable a local model finds given answers: from requests with continuations to lighteval's log-likelihood loop, and back.

lighteval gets one document for each continuation, so that its batches count texts and not questions, and our token ids
instead of its own. Its own rule is another for each backend and not the one that prompts are written by: it encodes prompt
and continuation apart, and hands white space at the prompt's end (the line break with which most chat templates end) over
to the continuation.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from medical_tasks.models.base import Answer, Failure, Request
from medical_tasks.models.choice_scores import ChoiceScores

__all__ = ["ChoicePrompt", "ChoiceText", "choice_docs", "our_tokens", "plan_texts", "read_logprobs", "scored_answer"]


@dataclass(frozen=True, kw_only=True)
class ChoicePrompt:
    """A request with continuations as the model gets it.

    Attributes:
        request: the question.
        tokens: the rendered chat's token ids, special tokens included.
        continuations: token ids of each continuation, at least one each.
    """

    request: Request
    tokens: tuple[int, ...]
    continuations: tuple[tuple[int, ...], ...]

    @property
    def longest(self) -> int:
        """Tokens of the prompt and its longest continuation."""
        return len(self.tokens) + max(map(len, self.continuations))


@dataclass(frozen=True, kw_only=True)
class ChoiceText:
    """One text to be scored: a prompt and one of its continuations.

    Attributes:
        prompt: the prompt.
        index: which of its continuations.
    """

    prompt: ChoicePrompt
    index: int

    @property
    def continuation(self) -> tuple[int, ...]:
        """The continuation's token ids."""
        return self.prompt.continuations[self.index]


def plan_texts(prompts: Sequence[ChoicePrompt], size: int | None) -> Iterator[list[ChoiceText]]:
    """Lays texts out, those of the longest prompt first and those of one prompt together, and cuts them into chunks.

    The order depends on the prompts alone, so that every process of a distributed run makes the same chunks.

    Args:
        prompts: what to score.
        size: most texts a chunk, None for no limit.

    Yields:
        Non-empty chunks that hold each text once. A prompt's texts can stand in two chunks.
    """
    ordered = sorted(prompts, key=lambda prompt: (-prompt.longest, prompt.request.key))
    texts = [ChoiceText(prompt=prompt, index=index) for prompt in ordered for index in range(len(prompt.continuations))]
    step = size or len(texts)
    for start in range(0, len(texts), step or 1):
        yield texts[start : start + step]


def choice_docs(texts: Sequence[ChoiceText]) -> list[Any]:
    """Makes lighteval's documents: labels that stand for the texts, all of one length, so that it keeps their order."""
    from lighteval.tasks.requests import Doc

    return [
        Doc(query=label, choices=[label], gold_index=0, id=label, task_name="medical") for label in _labels(len(texts))
    ]


@contextlib.contextmanager
def our_tokens(inner: Any, texts: Sequence[ChoiceText]) -> Iterator[None]:
    """Lets lighteval's model score our token ids for the documents of `choice_docs`.

    Args:
        inner: lighteval's model.
        texts: those of the documents.
    """
    by_label = dict(zip(_labels(len(texts)), texts, strict=True))

    def encode(context: str, continuations: list[str], pairwise: bool = False) -> tuple[list[list[int]], ...]:
        text = by_label[context]
        return [list(text.prompt.tokens)], [list(text.continuation)]

    names = vars(inner)
    names["tok_encode_pair"] = encode  # over the class's method
    try:
        yield
    finally:
        del names["tok_encode_pair"]


def read_logprobs(texts: Sequence[ChoiceText], responses: Sequence[Any]) -> list[float]:
    """Reads lighteval's responses.

    Args:
        texts: what was scored.
        responses: lighteval's, one a text.

    Returns:
        The sum of each continuation's log-probabilities; nan where the model's numbers broke down.

    Raises:
        RuntimeError: What was scored is not what was meant.
    """
    found: list[float] = []
    for text, response in zip(texts, responses, strict=True):
        if (_ids(response.input_tokens), _ids(response.output_tokens)) != (text.prompt.tokens, text.continuation):
            raise RuntimeError(f"lighteval changed the tokens of request {text.prompt.request.key} before scoring them")
        (logprob,) = response.logprobs
        found.append(min(float(logprob), 0.0) if not math.isnan(logprob) else math.nan)
    return found


def scored_answer(prompt: ChoicePrompt, logprobs: Sequence[float]) -> Answer | Failure:
    """Makes the answer of a prompt of which all continuations are scored.

    Args:
        prompt: the prompt.
        logprobs: one for each continuation, in order.
    """
    key = prompt.request.key
    if any(math.isnan(logprob) for logprob in logprobs):
        detail = "the model computed nan; float16 is too narrow for some models: give dtype=bfloat16 or float32"
        return Failure(key=key, reason="no number", detail=detail)
    counts = tuple(map(len, prompt.continuations))
    return Answer(key=key, text=ChoiceScores(logprobs=tuple(logprobs), tokens=counts).to_text())


def _labels(count: int) -> list[str]:
    return [f"{index:09}" for index in range(count)]


def _ids(tokens: Any) -> tuple[int, ...]:
    """Ids of what lighteval reports: a row or a list of one row, as tensor or list, filled up with -1."""
    rows = tokens.tolist() if hasattr(tokens, "tolist") else list(tokens)
    if rows and not isinstance(rows[0], int):
        (rows,) = rows
    return tuple(int(token) for token in rows if token >= 0)
