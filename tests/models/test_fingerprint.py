"""What changes a model's fingerprint, and what must not. Files are written by hand: no model library is needed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models import checkpoint as module
from medical_tasks.models.checkpoint import fingerprint, model_files

TENSOR_BYTES = 3000
TENSORS = 5


def safetensors(values: bytes) -> bytes:
    """A safetensors file of `TENSORS` one-byte tensors; the format is 8 bytes of length, a JSON header, the data."""
    entries = {
        f"layer.{index}": {
            "dtype": "U8",
            "shape": [TENSOR_BYTES],
            "data_offsets": [index * TENSOR_BYTES, (index + 1) * TENSOR_BYTES],
        }
        for index in range(TENSORS)
    }
    header = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    return len(header).to_bytes(8, "little") + header + values


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text('{"hidden_size": 8}', encoding="utf-8")
    (made / "tokenizer.json").write_text('{"vocab": []}', encoding="utf-8")
    (made / "model.safetensors").write_bytes(safetensors(bytes(TENSOR_BYTES * TENSORS)))
    return made


@pytest.fixture
def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, with its weights taken for a large file."""
    monkeypatch.setattr(module, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(module, "SAMPLE_BYTES", 16)
    return folder


def test_place_time_links_and_cards_play_no_part(folder: Path, tmp_path: Path) -> None:
    before = fingerprint(folder)
    assert len(before) == 64
    os.utime(folder / "model.safetensors", (0, 0))
    (folder / "README.md").write_text("a card", encoding="utf-8")
    (folder / "training_args.bin").write_bytes(b"state")
    assert fingerprint(folder) == before
    # The Hub's cache keeps links to files of other names.
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    for path in model_files(folder):
        (snapshot / path.name).symlink_to(shutil.copy(path, tmp_path / f"blob-{path.name}"))
    assert fingerprint(snapshot) == before


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "generation_config.json", "chat_template.jinja"])
def test_each_small_file_counts(folder: Path, name: str) -> None:
    before = fingerprint(folder)
    (folder / name).write_text('{"changed": true}', encoding="utf-8")
    assert fingerprint(folder) != before


@settings(deadline=None, max_examples=30)
@given(place=st.integers(0, TENSOR_BYTES * TENSORS - 1), bit=st.integers(0, 7))
def test_every_bit_of_small_weights_counts(place: int, bit: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.mktemp("bits")
    values = bytearray(TENSOR_BYTES * TENSORS)
    (base / "model.safetensors").write_bytes(safetensors(bytes(values)))
    before = fingerprint(base)
    values[place] ^= 1 << bit
    (base / "model.safetensors").write_bytes(safetensors(bytes(values)))
    assert fingerprint(base) != before


@pytest.mark.parametrize("tensor", range(TENSORS))
def test_a_change_in_any_tensor_of_large_weights_counts(large: Path, tensor: int) -> None:
    before = fingerprint(large)
    values = bytearray(TENSOR_BYTES * TENSORS)
    values[tensor * TENSOR_BYTES] = 1
    (large / "model.safetensors").write_bytes(safetensors(bytes(values)))
    assert fingerprint(large) != before


def test_large_weights_are_not_read_whole(large: Path) -> None:
    before = fingerprint(large)
    values = bytearray(TENSOR_BYTES * TENSORS)
    values[TENSOR_BYTES - 1] = 1  # the end of a tensor: outside every sample
    (large / "model.safetensors").write_bytes(safetensors(bytes(values)))
    assert fingerprint(large) == before


def test_the_header_of_large_weights_counts(large: Path) -> None:
    before = fingerprint(large)
    weights = large / "model.safetensors"
    weights.write_bytes(weights.read_bytes().replace(b"layer.3", b"layer.X"))
    assert fingerprint(large) != before


def test_other_large_weights_are_sampled_from_start_to_end(large: Path) -> None:
    (large / "model.safetensors").unlink()
    seen = set()
    for change in (None, 0, 49_999):
        values = bytearray(50_000)
        if change is not None:
            values[change] = 1
        (large / "pytorch_model.bin").write_bytes(values)
        seen.add(fingerprint(large))
    (large / "pytorch_model.bin").write_bytes(bytes(50_001))
    seen.add(fingerprint(large))
    assert len(seen) == 4


def test_the_name_of_a_shard_counts(folder: Path) -> None:
    before = fingerprint(folder)
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    assert fingerprint(folder) != before


def test_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(MissingError, match=r"no weights .*hf download"):
        fingerprint(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no room for its header"),
        (b"\x01\x00", "no room for its header"),
        ((10**9).to_bytes(8, "little") + b"{}", "no room for its header"),
        ((2).to_bytes(8, "little") + b"[]", "header cannot be read"),
        ((2).to_bytes(8, "little") + b"{x", "header cannot be read"),
        ((9).to_bytes(8, "little") + b'{"a": {}}', "header cannot be read"),
        (safetensors(bytes(TENSOR_BYTES * TENSORS))[:-1], r"asks for \d+ bytes, the file has \d+\. Download it again"),
    ],
)
def test_a_broken_file_is_told(folder: Path, content: bytes, message: str) -> None:
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        fingerprint(folder)


def test_files_are_those_that_decide_answers(folder: Path) -> None:
    for name in (
        "README.md",
        "optimizer.pt",
        "trainer_state.json",
        "model.safetensors.index.json",
        "merges.txt",
        "spiece.model",
    ):
        (folder / name).write_text("{}", encoding="utf-8")
    (folder / "original").mkdir()
    names = [path.name for path in model_files(folder)]
    assert names == ["config.json", "merges.txt", "model.safetensors", "spiece.model", "tokenizer.json"]
