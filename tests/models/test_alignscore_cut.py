from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.models.alignscore import cut_pair, kept_lengths

ROOM = 12


@pytest.mark.parametrize(
    ("context", "claim", "kept"),
    [
        (6, 6, (6, 6)),
        (20, 5, (7, 5)),  # the context alone
        (20, 11, (1, 11)),  # down to one token
        (1, 12, (1, 11)),  # none would be left: the longer one
        (20, 12, (6, 6)),  # and then both
        (3, 30, (3, 9)),
        (0, 30, (0, 12)),
        (30, 0, (12, 0)),
    ],
)
def test_how_much_stays(context: int, claim: int, kept: tuple[int, int]) -> None:
    assert kept_lengths(context, claim, ROOM) == kept


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({"[UNK]": 0, "<s>": 1, "</s>": 2, "a": 3, "b": 4}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
    return made


@settings(deadline=None, max_examples=150)
@given(context=st.integers(0, 30), claim=st.integers(0, 30), room=st.sampled_from([7, 12]))
def test_the_tokenizers_own_truncation(tokenizer: Any, context: int, claim: int, room: int) -> None:
    texts = ("a " * context, "b " * claim)
    tokenizer.no_truncation()
    whole = tokenizer.encode(*texts)
    tokenizer.enable_truncation(room + 4, strategy="only_first")
    try:
        cut = tokenizer.encode(*texts)
    except Exception:  # what it raises has no type of its own; the reference then lets it cut both
        tokenizer.enable_truncation(room + 4, strategy="longest_first")
        cut = tokenizer.encode(*texts)
    kept = whole.ids
    if len(kept) > room + 4:
        kept = [whole.ids[place] for place in cut_pair(whole.sequence_ids, room + 4)]
    assert kept == cut.ids
