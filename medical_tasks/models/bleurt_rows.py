"""What BLEURT reads of a pair: which tokens of each side stay, and how a folder's tokenizer makes them.

A row is `[CLS] reference [SEP] candidate [SEP]`. A pair that is too long loses last tokens one by one, always of the longer side,
and of the candidate where both are as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.models.encoder import LOAD_ERRORS, Row, first_line, readable

__all__ = ["SPECIAL_TOKENS", "Tokens", "kept_lengths", "make_row", "open_tokens"]

SPECIAL_TOKENS: Final = 3

Cut = Callable[[Sequence[str]], list[list[int]]]
"""Texts to their tokens' ids, special ones left out."""


def kept_lengths(reference: int, candidate: int, room: int) -> tuple[int, int]:
    """How many tokens of each side stay.

    Args:
        reference: tokens it has.
        candidate: tokens it has.
        room: tokens both can have together.
    """
    kept = min(candidate, max(room // 2, room - reference))
    return min(reference, room - kept), kept


def make_row(reference: Sequence[int], candidate: Sequence[int], longest: int, *, first: int, between: int) -> Row:
    """Puts a pair together.

    Args:
        reference: its tokens.
        candidate: its tokens.
        longest: most tokens of the row.
        first: the token in front.
        between: the token behind each side.

    Returns:
        `input_ids`, and `token_type_ids`, 1 for the candidate and what closes it.
    """
    one, two = kept_lengths(len(reference), len(candidate), longest - SPECIAL_TOKENS)
    return {
        "input_ids": [first, *reference[:one], between, *candidate[:two], between],
        "token_type_ids": [0] * (one + 2) + [1] * (two + 1),
    }


class Tokens:
    """A tokenizer.

    Args:
        cut: texts to ids.
        first: id of `[CLS]`.
        between: id of `[SEP]`.
        padding: id of `[PAD]`.
    """

    def __init__(self, cut: Cut, *, first: int, between: int, padding: int) -> None:
        self.cut = cut
        self.first = first
        self.between = between
        self.padding = padding


def open_tokens(name: str, folder: Path) -> Tokens:
    """Opens the tokenizer of a folder: sentencepiece where it has a `*.model`, as BLEURT-20 has; else BERT's word pieces.

    Args:
        name: the checkpoint's, for messages.
        folder: with its files.

    Raises:
        MissingError: sentencepiece is not installed.
        UsageError: It has none, several, or one that does not load.
    """
    models = sorted(folder.glob("*.model"))
    if len(models) > 1:
        found = ", ".join(path.name for path in models)
        raise UsageError(f"{name}: holds several tokenizers ({found}). Leave the one that is BLEURT's.")
    if models:
        return _sentence_pieces(name, models[0])
    if any((folder / file).is_file() for file in ("vocab.txt", "tokenizer.json")):
        return _word_pieces(name, folder)
    raise UsageError(
        f"{name}: has no tokenizer (*.model, vocab.txt or tokenizer.json). Download it again, with all of its files."
    )


def _sentence_pieces(name: str, path: Path) -> Tokens:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise MissingError(f"{name} needs sentencepiece: {install_command('local-judges')}") from error
    try:
        pieces: Any = SentencePieceProcessor(model_file=str(path))
    except LOAD_ERRORS as error:
        raise UsageError(f"{name}: {path.name} does not load ({first_line(error)}). Download it again.") from error
    ids = {token: int(pieces.piece_to_id(token)) for token in ("[CLS]", "[SEP]", "[PAD]")}
    lost = [token for token, number in ids.items() if number == pieces.unk_id()]
    if lost:
        raise UsageError(f"{name}: {path.name} knows no {', '.join(lost)}, so that it is not BLEURT's tokenizer.")

    def cut(texts: Sequence[str]) -> list[list[int]]:
        return [list(pieces.encode(readable(text), out_type=int)) for text in texts]

    return Tokens(cut, first=ids["[CLS]"], between=ids["[SEP]"], padding=ids["[PAD]"])


def _word_pieces(name: str, folder: Path) -> Tokens:
    import transformers

    try:
        # Not AutoTokenizer: conversions name classes of a package that is not needed here.
        tokenizer = transformers.BertTokenizerFast.from_pretrained(str(folder), local_files_only=True)
    except LOAD_ERRORS as error:
        raise UsageError(
            f"{name}: its tokenizer does not load with transformers {transformers.__version__}: {first_line(error)}"
        ) from error

    def cut(texts: Sequence[str]) -> list[list[int]]:
        made = tokenizer(
            [readable(text) for text in texts],
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        return [list(row) for row in made["input_ids"]]

    return Tokens(cut, first=tokenizer.cls_token_id, between=tokenizer.sep_token_id, padding=tokenizer.pad_token_id)
