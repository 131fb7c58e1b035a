"""From a model's name to its folder and fingerprint, without the internet."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models import checkpoint as module
from medical_tasks.models.checkpoint import (
    Checkpoint,
    find_checkpoint,
    fingerprint,
    model_files,
)
from tests.models.toy_texts import CASES, COMMIT


def folder_of(tmp_path: Path, **files: object) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def checkpoint_of(tmp_path: Path, **files: object) -> Checkpoint:
    return find_checkpoint(str(folder_of(tmp_path, **files)), revision=None)


def test_a_folder_by_any_path_is_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordinary = {
        "_attn_implementation": "sdpa",
        "_name_or_path": "org/name",
        "auto_map": {"AutoModel": "a.B"},
        "n": None,
    }
    folder = folder_of(tmp_path, config=ordinary)
    expected = Checkpoint(folder=folder.resolve(), label="model", revision="")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for target in (str(folder), "model", "./model/", "~/model"):
        assert find_checkpoint(target, revision=None) == expected


@pytest.mark.parametrize(
    ("target", "revision"), [("clinic/other", None), ("clinic/tiny-llm", "v9")]
)
def test_offline_only_models_of_the_cache_are_found(
    hub_cache: Path, target: str, revision: str | None
) -> None:
    checkpoint = find_checkpoint("clinic/tiny-llm", revision=None)
    assert (checkpoint.label, checkpoint.revision) == ("clinic/tiny-llm", COMMIT)
    assert (
        checkpoint.folder
        == hub_cache / "models--clinic--tiny-llm" / "snapshots" / COMMIT
    )
    assert find_checkpoint("clinic/tiny-llm", revision=COMMIT) == checkpoint
    with pytest.raises(
        MissingError,
        match=rf"{target} \(revision {revision or 'main'}\).*the Hub did not give it.*\n.*hf download {target}",
    ):
        find_checkpoint(target, revision=revision)


@pytest.mark.parametrize(
    "target", ["./nowhere", "/nowhere/at/all", "~/nowhere", "a/b/c", "two words"]
)
def test_no_such_folder(target: str) -> None:
    with pytest.raises(
        MissingError,
        match=r"no such folder\. Give a folder with a model in it, or a repository",
    ):
        find_checkpoint(target, revision=None)


@pytest.mark.parametrize(
    "config", CASES["a_configuration_that_names_code_elsewhere_is_refused"]
)
def test_a_configuration_that_names_code_elsewhere_is_refused(
    tmp_path: Path, config: dict[str, object]
) -> None:
    with pytest.raises(
        UsageError,
        match=r"config\.json: \w+ = .*stranger.* names code outside of this folder",
    ):
        checkpoint_of(tmp_path, config=config)


def test_a_folder_with_a_revision_or_without_a_configuration_or_with_a_broken_one(
    tmp_path: Path,
) -> None:
    folder = folder_of(tmp_path, tokenizer={})
    with pytest.raises(MissingError, match=r"no config\.json in .*save_pretrained"):
        find_checkpoint(str(folder), revision=None)
    with pytest.raises(UsageError, match="revision=v1: .* is a folder"):
        find_checkpoint(str(folder), revision="v1")
    for content, message in (
        ("{", r"config\.json: not JSON"),
        ("[1]", "a JSON object is expected, got list"),
    ):
        (folder / "config.json").write_text(content, encoding="utf-8")
        with pytest.raises(UsageError, match=message):
            find_checkpoint(str(folder), revision=None)


@pytest.mark.parametrize(("config", "dtype"), CASES["own_dtype"])
def test_own_dtype_of_a_configuration(
    tmp_path: Path, config: dict[str, object], dtype: str
) -> None:
    assert checkpoint_of(tmp_path, config=config).own_dtype() == dtype


@pytest.mark.parametrize(("config", "context"), CASES["context"])
def test_context_of_a_configuration(
    tmp_path: Path, config: dict[str, object], context: int | None
) -> None:
    assert checkpoint_of(tmp_path, config=config).context() == context


def test_end_tokens_come_from_both_files(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(
        tmp_path,
        config={"eos_token_id": 2},
        generation_config={"eos_token_id": [1, 106]},
    )
    assert checkpoint.end_tokens() == {1, 2, 106}
    shutil.rmtree(checkpoint.folder)
    assert checkpoint_of(tmp_path, config={}).end_tokens() == set()


TENSOR_BYTES = 3000
TENSORS = 5


def safetensors(values: bytes) -> bytes:
    """A safetensors file of `TENSORS` tensors of bytes."""
    tensors = np.frombuffer(values, dtype=np.uint8).reshape(TENSORS, TENSOR_BYTES)
    return save(
        {f"layer.{index}": tensor for index, tensor in enumerate(tensors)},
        metadata={"format": "pt"},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = folder_of(tmp_path, config={"hidden_size": 8}, tokenizer={"vocab": []})
    write_weights(path)
    return path


def write_weights(folder: Path, *, changed: int | None = None) -> None:
    """Writes weights of zeros, with one byte `changed`."""
    values = bytearray(TENSOR_BYTES * TENSORS)
    if changed is not None:
        values[changed] = 1
    (folder / "model.safetensors").write_bytes(safetensors(bytes(values)))


def test_path_time_links_and_cards_are_not_in_the_fingerprint(
    folder: Path, tmp_path: Path
) -> None:
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
        (snapshot / path.name).symlink_to(
            shutil.copy(path, tmp_path / f"blob-{path.name}")
        )
    assert fingerprint(snapshot) == before


def test_each_small_file_and_shard_name_is_in_the_fingerprint(folder: Path) -> None:
    seen = {fingerprint(folder)}
    for name in (
        "config.json",
        "tokenizer.json",
        "generation_config.json",
        "chat_template.jinja",
    ):
        (folder / name).write_text('{"changed": true}', encoding="utf-8")
        seen.add(fingerprint(folder))
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    assert len({*seen, fingerprint(folder)}) == 6
    others = (
        "README.md",
        "optimizer.pt",
        "trainer_state.json",
        "model.safetensors.index.json",
    )
    for name in (*others, "merges.txt", "spiece.model"):
        (folder / name).write_text("{}", encoding="utf-8")
    (folder / "original").mkdir()
    names = [path.name for path in model_files(folder)]
    assert names == [
        "chat_template.jinja", "config.json", "generation_config.json", "merges.txt", "model-00001-of-00001.safetensors",
        "spiece.model", "tokenizer.json",
    ]  # fmt: skip


@settings(max_examples=30)
@given(position=st.integers(0, TENSOR_BYTES * TENSORS - 1))
def test_every_byte_of_small_weights_is_in_the_fingerprint(
    position: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = tmp_path_factory.mktemp("bits")
    write_weights(base)
    before = fingerprint(base)
    write_weights(base, changed=position)
    assert fingerprint(base) != before


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of more than 1,000 bytes are sampled by 16 bytes."""
    monkeypatch.setattr(module, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(module, "SAMPLE_BYTES", 16)


@pytest.mark.usefixtures("sampled")
def test_large_safetensors_are_sampled_in_each_tensor_and_the_header(
    folder: Path,
) -> None:
    before = fingerprint(folder)
    for tensor in range(TENSORS):
        write_weights(folder, changed=tensor * TENSOR_BYTES)
        assert fingerprint(folder) != before
    # the end of a tensor: outside every sample
    write_weights(folder, changed=TENSOR_BYTES - 1)
    assert fingerprint(folder) == before
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes().replace(b"layer.3", b"layer.X"))
    assert fingerprint(folder) != before


@pytest.mark.usefixtures("sampled")
def test_other_large_weights_are_sampled_from_start_to_end(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    fingerprints = set()
    for content in (
        bytes(50_000),
        b"\1" + bytes(49_999),
        bytes(49_999) + b"\1",
        bytes(50_001),
    ):
        (folder / "pytorch_model.bin").write_bytes(content)
        fingerprints.add(fingerprint(folder))
    assert len(fingerprints) == 4


@pytest.mark.parametrize(("length", "rest", "message"), CASES["broken_safetensors"])
def test_the_message_about_a_broken_safetensors_file(
    folder: Path, length: int, rest: str, message: str
) -> None:
    (folder / "model.safetensors").write_bytes(
        length.to_bytes(8, "little") + rest.encode()
    )
    with pytest.raises(UsageError, match=message):
        fingerprint(folder)


def test_the_message_about_truncated_and_missing_weights(folder: Path) -> None:
    weights = folder / "model.safetensors"
    for kept, message in (
        (0, "no room for its header"),
        (2, "no room"),
        (-1, r"describes \d+ bytes, the file has \d+\. Down"),
    ):
        weights.write_bytes(safetensors(bytes(TENSOR_BYTES * TENSORS))[:kept])
        with pytest.raises(UsageError, match=message):
            fingerprint(folder)
    weights.unlink()
    with pytest.raises(MissingError, match=r"no weights .*hf download"):
        fingerprint(folder)
