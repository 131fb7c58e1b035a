"""From a model's name to its folder, without the internet."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.checkpoint import Checkpoint, find_checkpoint

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def folder_of(tmp_path: Path, **files: object) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    for name, content in files.items():
        (made / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return made


def checkpoint_of(tmp_path: Path, **files: object) -> Checkpoint:
    return find_checkpoint(str(folder_of(tmp_path, **files)), revision=None)


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An offline Hub whose cache holds `clinic/tiny-llm` at one commit."""
    from huggingface_hub import constants

    cache = tmp_path / "hub"
    repository = cache / "models--clinic--tiny-llm"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}", encoding="utf-8")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT, encoding="utf-8")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return cache


def test_a_folder_by_any_path_is_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(tmp_path, config={})
    expected = Checkpoint(folder=folder.resolve(), label="model", revision="")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for target in (str(folder), "model", "./model/", "~/model"):
        assert find_checkpoint(target, revision=None) == expected


def test_a_repository_is_found_in_the_cache(hub_cache: Path) -> None:
    found = find_checkpoint("clinic/tiny-llm", revision=None)
    assert (found.label, found.revision) == ("clinic/tiny-llm", COMMIT)
    assert found.folder == hub_cache / "models--clinic--tiny-llm" / "snapshots" / COMMIT
    assert find_checkpoint("clinic/tiny-llm", revision=COMMIT) == found


@pytest.mark.parametrize(("target", "revision"), [("clinic/other", None), ("clinic/tiny-llm", "v9")])
def test_what_is_not_in_the_cache_is_missing_when_offline(hub_cache: Path, target: str, revision: str | None) -> None:
    assert hub_cache.is_dir()
    with pytest.raises(
        MissingError, match=rf"{target} \(revision {revision or 'main'}\).*not to be had.*\n.*hf download {target}"
    ):
        find_checkpoint(target, revision=revision)


@pytest.mark.parametrize("target", ["./nowhere", "/nowhere/at/all", "~/nowhere", "a/b/c", "two words"])
def test_no_such_folder(target: str) -> None:
    with pytest.raises(MissingError, match=r"no such folder\. Give a folder with a model in it, or a repository"):
        find_checkpoint(target, revision=None)


@pytest.mark.parametrize(
    "config",
    [
        {"_attn_implementation_internal": "stranger/kernel"},
        {"text_config": {"attn_implementation": "stranger/kernel@main:run"}},
        {"parts": [{"_experts_implementation": {"": "stranger/kernel"}}]},
        {"trust_remote_code": True, "keypoint_detector_config": {"_name_or_path": "stranger/model"}},
    ],
)
def test_a_configuration_that_names_code_elsewhere_is_refused(tmp_path: Path, config: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"config\.json: \w+ = .*stranger.* names code outside of this folder"):
        checkpoint_of(tmp_path, config=config)


def test_an_ordinary_configuration_is_not(tmp_path: Path) -> None:
    checkpoint_of(
        tmp_path,
        config={
            "_attn_implementation": "sdpa",
            "_name_or_path": "org/name",
            "auto_map": {"AutoModel": "a.B"},
            "n": None,
        },
    )


def test_a_folder_without_a_configuration(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"no config\.json in .*save_pretrained"):
        checkpoint_of(tmp_path, tokenizer={})


def test_a_folder_has_no_revision(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="revision=v1: .* is a folder"):
        find_checkpoint(str(folder_of(tmp_path, config={})), revision="v1")


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({}, "float32"),
        ({"torch_dtype": "bfloat16"}, "bfloat16"),
        ({"dtype": "float16"}, "float16"),
        ({"dtype": "torch.float16"}, "float16"),
        ({"text_config": {"dtype": "bfloat16"}}, "bfloat16"),
    ],
)
def test_the_type_the_weights_were_saved_for(tmp_path: Path, config: dict[str, object], dtype: str) -> None:
    assert checkpoint_of(tmp_path, config=config).own_dtype() == dtype


@pytest.mark.parametrize(
    ("config", "context"),
    [
        ({"max_position_embeddings": 4096}, 4096),
        ({"n_positions": 1024}, 1024),
        ({"text_config": {"n_ctx": 7}}, 7),
        ({}, None),
    ],
)
def test_the_context(tmp_path: Path, config: dict[str, object], context: int | None) -> None:
    assert checkpoint_of(tmp_path, config=config).context() == context


def test_end_tokens_come_from_both_files(tmp_path: Path) -> None:
    found = checkpoint_of(tmp_path, config={"eos_token_id": 2}, generation_config={"eos_token_id": [1, 106]})
    assert found.end_tokens() == {1, 2, 106}
    shutil.rmtree(found.folder)
    assert checkpoint_of(tmp_path, config={}).end_tokens() == set()


@pytest.mark.parametrize(
    ("content", "message"), [("{", r"config\.json: not JSON"), ("[1]", "a JSON object is expected, got list")]
)
def test_a_broken_configuration_is_told(tmp_path: Path, content: str, message: str) -> None:
    folder = folder_of(tmp_path, config={})
    (folder / "config.json").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        find_checkpoint(str(folder), revision=None).context()
