"""The toy model is small, reproducible and able to end an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.models.stand_ins import make_toy_model
from tests.models.local_runs import alone
from tests.models.toy_texts import TEXTS, ask

pytestmark = pytest.mark.slow

BYTES = ["config.json", "model.safetensors", "tokenizer.json"]


def test_the_same_seed_gives_the_same_bytes_and_keeps_the_random_state(
    toy_model: Path, tmp_path: Path
) -> None:
    import torch

    before = torch.random.get_rng_state()
    again = make_toy_model(tmp_path / "again", TEXTS)
    assert torch.equal(before, torch.random.get_rng_state())
    assert [
        (again / name).read_bytes() == (toy_model / name).read_bytes() for name in BYTES
    ] == [
        True,
        True,
        True,
    ]


@pytest.mark.usefixtures("one_thread")
def test_most_answers_end_by_themselves(toy_model: Path) -> None:
    token_lists = [alone(toy_model, ask("", text, size=128)) for text in TEXTS[::6]]
    assert len(token_lists) == 28
    assert sum(len(answer) < 128 for answer in token_lists) >= 24
    # the answer depends on the question
    assert len({tuple(answer) for answer in token_lists}) > 20


def test_the_toy_needs_a_text_and_an_empty_folder(tmp_path: Path) -> None:
    for texts in ([], ["", " \n"]):
        with pytest.raises(
            UsageError, match=r"texts: the toy's tokenizer needs at least one text"
        ):
            make_toy_model(tmp_path / "toy", texts)
    (tmp_path / "notes.txt").write_text("keep me", encoding="utf-8")
    with pytest.raises(UsageError, match="goes into an empty folder"):
        make_toy_model(tmp_path, TEXTS)
