from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.models.checkpoint import find_checkpoint
from medical_tasks.models.encoder import (
    Batches,
    Row,
    load_model,
    load_tokenizer,
    longest_text,
    pad,
)
from tests.models.tiny_alignscore import make_roberta
from tests.models.tiny_embedder import write_json


def rows(*lengths: int) -> list[Row]:
    return [{"input_ids": [number] * length} for number, length in enumerate(lengths)]


def test_batches_run_longest_first_and_scores_keep_the_order() -> None:
    import torch

    read: list[list[int]] = []

    def score(batch: Sequence[Row]) -> list[int]:
        read.append([len(row["input_ids"]) for row in batch])
        return [row["input_ids"][0] for row in batch]

    batches = Batches("tiny", torch.device("cpu"))
    batches.tokens = 10
    assert batches.read(rows(2, 5, 11, 1, 5, 4), score) == [0, 1, 2, 3, 4, 5]
    assert read == [[11], [5, 5], [4, 2], [1]]
    assert batches.read([], score) == []


def test_a_full_memory_halves_the_batch() -> None:
    import torch

    sizes: list[int] = []

    def score(batch: Sequence[Row]) -> list[int]:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError("full")
        return [row["input_ids"][0] for row in batch]

    batches = Batches("tiny", torch.device("cpu"))
    assert batches.read(rows(3, 3, 3, 3, 3), score) == [0, 1, 2, 3, 4]
    assert sizes == [5, 2, 2, 1]

    def no_room(batch: Sequence[Row]) -> list[int]:
        raise torch.OutOfMemoryError("full")

    with pytest.raises(
        UsageError, match="too little memory for one text of 7 tokens with tiny"
    ):
        batches.read(rows(7), no_room)


def test_padding_is_masked() -> None:
    import torch

    padded = pad(
        [
            {"input_ids": [5, 6], "token_type_ids": [0, 1]},
            {"input_ids": [7], "token_type_ids": [1]},
        ],
        padding=1,
        device=torch.device("cpu"),
    )
    assert padded["input_ids"].tolist() == [[5, 6], [7, 1]]
    assert padded["token_type_ids"].tolist() == [[0, 1], [1, 0]]
    assert padded["attention_mask"].tolist() == [[1, 1], [1, 0]]


def test_longest_text_of_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    make_roberta(folder, longest=20)
    checkpoint = find_checkpoint(str(folder), revision=None)
    # 22 positions, of which padding takes the first two
    assert longest_text(checkpoint) == 20
    write_json(folder / "tokenizer_config.json", {"model_max_length": 7})
    assert longest_text(checkpoint) == 7
    assert longest_text(checkpoint, 20) == 20
    for wrong in (0, 21):
        with pytest.raises(
            UsageError, match=f"max_length={wrong}: m accepts 1 to 20 tokens"
        ):
            longest_text(checkpoint, wrong)
    write_json(folder / "tokenizer_config.json", {"model_max_length": 10**30})
    write_json(folder / "config.json", {"model_type": "roberta"})
    with pytest.raises(UsageError, match="no file of it says how long"):
        longest_text(checkpoint)


def test_loading_some_layers_and_truncated_files(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    make_roberta(folder)
    assert len(load_model("m", folder, layers=1).encoder.layer) == 1
    assert len(load_model("m", folder).encoder.layer) == 2
    with pytest.raises(UsageError, match="m has layers 0 to 2; got 3"):
        load_model("m", folder, layers=3)
    with pytest.raises(UsageError, match="nothing does not load with transformers"):
        load_model("nothing", tmp_path / "nothing")
    for file in folder.glob("*.safetensors"):
        file.write_bytes(b"\xff" * 100)
    with pytest.raises(
        UsageError, match=r"tiny does not load with transformers .*header"
    ):
        load_model("tiny", folder)
    load_tokenizer("tiny", folder)
    for name in ("tokenizer.json", "vocab.json", "merges.txt"):
        (folder / name).unlink(missing_ok=True)
    # transformers makes a tokenizer all the same, for which every word is unknown.
    with pytest.raises(
        UsageError, match=r"tiny: its tokenizer (has no words|does not load)"
    ):
        load_tokenizer("tiny", folder)
