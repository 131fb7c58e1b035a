"""Reading how probable answers are from what a chat server says of tokens. Nothing here sends.

Two forms are read: the alternatives for the first token of an answer (OpenAI's `logprobs` with `top_logprobs`), and what vLLM
says of the tokens of a prompt (`prompt_logprobs`). Details of errors hold no token's text: it may be the question's.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.models.choice_scores import ChoiceScores

__all__ = ["OddScoresError", "Score", "is_letter", "read_continuation", "read_first_token", "read_prompt"]

MISSING: Final = "no log-probabilities"
MALFORMED: Final = "malformed log-probabilities"
APART: Final = "answer not told from the prompt"
"""Why a reply says nothing of the answers' probabilities."""

Score = tuple[float, int]
"""Sum of a continuation's log-probabilities, and the number of its tokens."""

# Servers write this for a probability of 0 or next to it, since JSON has no infinity.
_IMPOSSIBLE: Final = -9999.0
_TOLERANCE: Final = 1e-4  # sums of probabilities are rounded where they were computed
# White space, and how the tokenizers of some servers spell a space and a line break in a token.
_AROUND: Final = " \t\r\n\u2581\u0120\u010a"
_NUMBER: Final = re.compile(r"token_id:\d+")
_UNREADABLE: Final = "\ufffd"  # part of a character that several tokens make


class OddScoresError(Exception):
    """A reply does not say how probable the answers are.

    Attributes:
        reason: one of the three above.
        detail: one line for a person.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def is_letter(continuation: str) -> bool:
    """Says whether a continuation is a single letter or digit, white space around it left aside."""
    bare = continuation.strip()
    return len(bare) == 1 and bare.isalnum()


def read_first_token(entries: Sequence[Mapping[str, Any]] | None, letters: Sequence[str]) -> ChoiceScores:
    """Reads the probability that an answer begins with each of some letters as a token of their own.

    The probabilities of a letter's spellings are added up: the letter alone, or with white space before or after it. Everything
    else means nothing, in particular tokens that hold more (`(A`, `A.`, `The`), and the letter in the other case.

    Args:
        entries: the answer's tokens as the server sent them.
        letters: continuations of one letter each.

    Returns:
        The log-probability of each letter; None where no spelling of it is among the alternatives.

    Raises:
        OddScoresError: There are no alternatives, or what stands there is no log-probability.
    """
    if not entries:
        raise OddScoresError(MISSING, "the reply names no tokens and no log-probabilities")
    first = entries[0]
    listed = first.get("top_logprobs")
    if not isinstance(listed, list) or not listed:
        raise OddScoresError(MISSING, "the reply names no alternatives for the answer's first token (top_logprobs)")
    alternatives = [_alternative(entry) for entry in listed]
    if all(_NUMBER.fullmatch(token) for token, _ in alternatives):
        raise OddScoresError(
            MALFORMED, "the server names tokens by number: start it without --return-tokens-as-token-ids"
        )
    finite = [value for _, value in alternatives if value > -math.inf]
    if not finite:
        raise OddScoresError(MALFORMED, "no alternative for the answer's first token has a probability above 0")
    if isinstance(first.get("token"), str) and "logprob" in first:
        # What was chosen stands among the alternatives on most servers, and beside them on a few.
        token, value = _alternative(first)
        if not any(token == other and abs(value - known) <= _TOLERANCE for other, known in alternatives):
            alternatives.append((token, value))
    found = [_added([value for token, value in alternatives if _means(token, letter)]) for letter in letters]
    if any(value is not None and value > _TOLERANCE for value in found):
        raise OddScoresError(MALFORMED, "the probabilities of one letter's spellings add up to more than 1")
    logprobs = tuple(None if value is None else min(value, 0.0) for value in found)
    # A token that is not listed is less probable than every one that is.
    below = min(min(finite), 0.0) if None in logprobs else None
    return ChoiceScores(logprobs=logprobs, tokens=(1,) * len(letters), below=below)


def _alternative(entry: Any) -> tuple[str, float]:
    if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
        raise OddScoresError(MALFORMED, "an alternative for the answer's first token has no text")
    return entry["token"], _logprob(entry.get("logprob"))


def _means(token: str, letter: str) -> bool:
    return token.strip(_AROUND) == letter.strip()


def _added(logprobs: Sequence[float]) -> float | None:
    """Logarithm of the sum of some probabilities, None when there are none."""
    if not logprobs:
        return None
    largest = max(logprobs)
    if largest == -math.inf:
        return largest
    return largest + math.log(math.fsum(math.exp(value - largest) for value in logprobs))


def _logprob(value: Any) -> float:
    """Checks a log-probability.

    Raises:
        OddScoresError: It is no number, not a number (nan), or above 0.
    """
    if type(value) not in (int, float) or not value <= _TOLERANCE:  # nan is not
        shown = repr(value)[:20] if type(value) in (int, float) else type(value).__name__
        raise OddScoresError(MALFORMED, f"a log-probability must be a number up to 0, got {shown}")
    return -math.inf if value <= _IMPOSSIBLE else float(value)


def read_prompt(entries: Sequence[Any] | None, *, prompt_tokens: int | None) -> list[Any]:
    """Checks what a server says of a prompt's tokens.

    With `prompt_logprobs=0` vLLM names the prompt's own token at each place and no other: `{"1234": {"logprob": ...}}`, and null
    for the first one, before which nothing stands.

    Args:
        entries: as the server sent them, one a token.
        prompt_tokens: length of the prompt by the server's own count, None when it does not say.

    Returns:
        For each token a pair of its id and what is said of it; None for the first.

    Raises:
        OddScoresError: There are none, they are fewer or more than the prompt's tokens, or of another form.
    """
    if entries is None:
        raise OddScoresError(MISSING, "the reply says nothing of the prompt's tokens (prompt_logprobs)")
    if not entries or prompt_tokens not in (None, len(entries)):
        raise OddScoresError(
            MALFORMED, f"the reply tells of {len(entries)} tokens of a prompt that has {prompt_tokens or 'some'}"
        )
    found: list[Any] = [None]
    for entry in entries[1:]:
        if not isinstance(entry, dict) or len(entry) != 1:
            count = len(entry) if isinstance(entry, dict) else "none"
            raise OddScoresError(MALFORMED, f"one token is expected at each place of the prompt, got {count}")
        found.append(next(iter(entry.items())))
    return found


def read_continuation(context: Sequence[Any], whole: Sequence[Any], continuation: str) -> Score:
    """Adds up the log-probabilities of what stands behind a context.

    Args:
        context: `read_prompt` of the chat, ready for an answer.
        whole: `read_prompt` of the chat with the continuation as its answer.
        continuation: its text.

    Raises:
        OddScoresError: The context's tokens are not the first ones of the whole, or what follows them is not the continuation.
    """
    size = len(context)
    if [pair and pair[0] for pair in whole[:size]] != [pair and pair[0] for pair in context]:
        raise OddScoresError(
            APART,
            "the tokens of the prompt change when an answer stands behind it: the tokenizer joins the end of the one with the "
            "beginning of the other, or the chat template writes an answered question otherwise than an open one",
        )
    rest = whole[size:]
    said = [entry if isinstance(entry, dict) else {} for _, entry in rest]
    texts = [text for entry in said if isinstance(text := entry.get("decoded_token"), str)]
    if len(texts) < len(said):
        raise OddScoresError(MALFORMED, "a token of the answer has no text (decoded_token)")
    if not rest or not _reads_as("".join(texts), continuation):
        raise OddScoresError(
            APART,
            f"the {len(rest)} tokens behind the prompt do not read as the answer that was given: the chat template changes "
            "answers, or writes something before or after them",
        )
    return min(math.fsum(_logprob(entry.get("logprob")) for entry in said), 0.0), len(rest)


def _reads_as(read: str, text: str) -> bool:
    """Compares texts but for white space; an unreadable character stands for one or more."""
    parts = re.split(f"{_UNREADABLE}+", _squeezed(read))
    wanted = _squeezed(text)
    if len(parts) == 1:
        return parts[0] == wanted
    first, *middle, last = parts
    place = len(first)
    if not wanted.startswith(first):
        return False
    for part in middle:
        found = wanted.find(part, place + 1)
        if found < 0:
            return False
        place = found + len(part)
    return wanted.endswith(last) and len(wanted) - len(last) > place


def _squeezed(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).replace("\u2581", " ").split())
