from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.bleurt import (
    Conversion,
    bleurt_identity,
    kept_lengths,
    make_row,
    open_bleurt,
)
from medical_tasks.models.checkpoint import find_checkpoint
from tests.case_tables import json_of
from tests.models.tiny_bleurt import (
    LIMIT,
    PAIRS,
    make_bleurt,
    make_pieces,
    make_word_bleurt,
)
from tests.models.tiny_embedder import change_weights, write_json
from tests.support import ROOT

pytestmark = pytest.mark.usefixtures("one_thread")

# Scores by bleurt-pytorch 0.0.1 with transformers 4.44.2 on the same weights: of rows of
# ids, and of the pairs.
RECORDED_ROWS: tuple[tuple[list[int], list[int], float], ...] = (
    ([8, 51, 11], [14, 42], 0.2374597),
    ([], [], 0.1639972),
    ([7] * 20, [9] * 9, 0.23062487),
    (list(range(40, 60)), [], 0.24199151),
)
RECORDED_WORDS = (
    -0.12157944,
    -0.12035131,
    -0.10747731,
    -0.11102465,
    -0.21082288,
    -0.12116456,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bleurt") / "tiny-bleurt"
    make_bleurt(path)
    return path


@pytest.fixture
def changed(folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(folder, tmp_path / "changed")


def test_scores_are_those_recorded_from_the_conversions_code(
    folder: Path, tmp_path: Path
) -> None:
    network = Conversion(find_checkpoint(str(folder), revision=None), longest=LIMIT)
    rows = [
        make_row(reference, candidate, LIMIT, first=2, between=3)
        for reference, candidate, _ in RECORDED_ROWS
    ]
    assert network.outputs(rows) == pytest.approx(
        [number for _, _, number in RECORDED_ROWS], abs=1e-6
    )
    make_word_bleurt(tmp_path / "words")  # BERT's kind, with word pieces
    assert open_bleurt(tmp_path / "words").score(PAIRS) == pytest.approx(
        RECORDED_WORDS, abs=1e-6
    )


def test_pairs_are_cut_and_scored_once_and_in_order(folder: Path) -> None:
    from sentencepiece import SentencePieceProcessor

    pieces = SentencePieceProcessor(model_file=str(folder / "spm.model"))
    sides = [[pieces.encode(text) for text in pair] for pair in PAIRS]
    network = Conversion(find_checkpoint(str(folder), revision=None), longest=LIMIT)
    expected = network.outputs(
        [
            make_row(reference, candidate, LIMIT, first=2, between=3)
            for reference, candidate in sides
        ]
    )
    scorer = open_bleurt(folder)
    assert scorer.score(PAIRS) == pytest.approx(expected, abs=1e-6)
    assert scorer.truncated == 2
    # Other pairs of a batch change no score, and neither does a pair's repetition.
    assert scorer.score([PAIRS[1], PAIRS[0], PAIRS[1]]) == pytest.approx(
        [expected[1], expected[0], expected[1]], abs=1e-6
    )
    assert scorer.score([]) == []
    # the sides differ
    assert len(set(scorer.score([PAIRS[0], PAIRS[0][::-1]]))) == 2
    scorer.close()
    with pytest.raises(RuntimeError, match="tiny-bleurt was closed"):
        scorer.score(PAIRS)


@given(
    reference=st.integers(0, 40), candidate=st.integers(0, 40), room=st.integers(2, 40)
)
def test_a_pair_loses_tokens_one_by_one(
    reference: int, candidate: int, room: int
) -> None:
    kept_reference, kept_candidate = reference, candidate
    while kept_reference + kept_candidate > room:
        if kept_reference > kept_candidate:
            kept_reference -= 1
        else:
            kept_candidate -= 1
    assert kept_lengths(reference, candidate, room) == (kept_reference, kept_candidate)


@pytest.mark.parametrize("layout", ["bert", "rembert"])
def test_other_layouts_give_the_same_numbers(layout: str, tmp_path: Path) -> None:
    import torch

    narrow: dict[str, Any] = {"embedding_size": None} if layout == "bert" else {}
    state = make_bleurt(tmp_path / "a", torch_file=True, **narrow)
    make_bleurt(
        tmp_path / "b",
        torch_file=True,
        **narrow,
        model_type=layout,
        input_embedding_size=12,
    )
    named = {
        name.replace("bleurt.", f"{layout}.").replace(
            "embedding_projection", "embedding_hidden_mapping_in"
        ): value
        for name, value in state.items()
    }
    torch.save(named, tmp_path / "b" / "pytorch_model.bin")
    assert open_bleurt(tmp_path / "b").score(PAIRS) == open_bleurt(
        tmp_path / "a"
    ).score(PAIRS)


def test_max_length_and_unusual_texts(folder: Path) -> None:
    scorer = open_bleurt(folder, max_length=5)
    assert scorer.identity["max_length"] == "5"
    assert scorer.score([("no sign", "no sign")]) == scorer.score(
        [("no sign of a fracture", "no sign there is")]
    )
    assert all(
        -5 < score < 5
        for score in scorer.score([("\ud800", "🙂"), (" \n", "[CLS] [SEP]")])
    )
    for wrong in (4, 0, LIMIT + 1):
        with pytest.raises(UsageError, match=f"max_length={wrong}:"):
            open_bleurt(folder, max_length=wrong)
    for pairs in ([("a",)], ["ab"], [("a", None)]):
        with pytest.raises(ValueError, match="pairs must be of two texts each"):
            scorer.score(pairs)  # type: ignore[arg-type]


def test_the_identity_has_what_decides_a_score(folder: Path, changed: Path) -> None:
    identity = bleurt_identity(folder)
    assert identity == open_bleurt(folder).identity
    assert (identity["kind"], identity["model"], identity["max_length"]) == (
        "bleurt",
        "tiny-bleurt",
        str(LIMIT),
    )
    assert str(folder.parent) not in json.dumps(identity)
    make_bleurt(changed, num_hidden_layers=1)
    assert bleurt_identity(changed)["fingerprint"] != identity["fingerprint"]


def test_messages_about_missing_files_and_packages_have_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        MissingError,
        match="hf download lucadiliello/BLEURT-20 --local-dir models/BLEURT-20",
    ):
        open_bleurt(tmp_path / "none").score(PAIRS)
    write_json(
        tmp_path / "config.json",
        {"model_type": "bleurt", "max_position_embeddings": LIMIT},
    )
    with pytest.raises(MissingError, match="no weights"):
        bleurt_identity(tmp_path)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    (tmp_path / "spm.model").write_bytes(b"")
    with pytest.raises(
        MissingError, match="needs sentencepiece: pip install .* sentencepiece"
    ):
        open_bleurt(tmp_path)


def _drop(folder: Path, lacking: str) -> None:
    change_weights(folder, lambda name, value: None if name == lacking else value)


def test_folders_of_another_form_are_refused(changed: Path) -> None:
    import torch

    def refused(message: str) -> None:
        with pytest.raises(UsageError, match=message):
            open_bleurt(changed)

    (changed / "sent_piece.model").write_bytes((changed / "spm.model").read_bytes())
    refused("holds several tokenizers")
    (changed / "sent_piece.model").unlink()
    (changed / "spm.model").write_bytes(b"none")
    refused("spm.model does not load")
    (changed / "spm.model").unlink()
    refused("has no tokenizer")
    make_pieces(changed / "spm.model")
    _drop(changed, "classifier.bias")
    refused("no regression in it")
    make_bleurt(changed)
    _drop(changed, "bleurt.pooler.dense.bias")
    refused(r"1 of its weights are missing and 0 have no place \(pooler.dense.bias\)")
    make_bleurt(changed, num_hidden_layers=1)
    write_json(
        changed / "config.json",
        {**json_of(changed / "config.json"), "hidden_size": 20},
    )
    refused("changed does not load with transformers")
    (changed / "model.safetensors").write_bytes(b"none")
    refused("its weights do not load|not a safetensors file")
    write_json(changed / "config.json", {"model_type": "t5"})
    refused("model_type 't5'; that of BLEURT is bleurt, bert, rembert")
    # Scores that are not finite, and pickled code, which is not run.
    make_bleurt(changed)
    change_weights(changed, lambda _, value: value * float("nan"))
    with pytest.raises(UsageError, match="gives numbers that are not finite"):
        open_bleurt(changed).score(PAIRS)
    (changed / "model.safetensors").unlink()
    # unpickling this object calls code
    torch.save({"x": Path("x")}, changed / "pytorch_model.bin")
    with pytest.raises(UsageError, match="its weights do not load"):
        open_bleurt(changed)


# A stand-in with the interface of the authors' package, which needs TensorFlow.

PACKAGE = """
class BleurtScorer:
    def __init__(self, checkpoint):
        print("noise of TensorFlow")
        self.checkpoint = checkpoint

    def score(self, *args, references=[], candidates=[], batch_size=None):
        assert not args
        pairs = zip(references, candidates)
        return [len(reference) - len(candidate) / 100 for reference, candidate in pairs]

    def close(self):
        print("closed", self.checkpoint)
"""


def authors_folder(folder: Path) -> Path:
    write_json(
        folder / "bleurt_config.json", {"name": "BLEURT-20", "max_seq_length": 512}
    )
    (folder / "variables").mkdir()
    (folder / "variables" / "variables.index").write_bytes(b"1")
    return folder


def test_a_checkpoint_of_the_authors_is_run_by_their_package(tmp_path: Path) -> None:
    folder = authors_folder(tmp_path / "BLEURT-20")
    with pytest.raises(
        MissingError,
        match="is a checkpoint for TensorFlow. .*git\\+https://github.com/google-research/bleurt",
    ):
        open_bleurt(folder).score(PAIRS)
    (tmp_path / "site" / "bleurt").mkdir(parents=True)
    (tmp_path / "site" / "bleurt" / "__init__.py").write_text("")
    (tmp_path / "site" / "bleurt" / "score.py").write_text(PACKAGE)
    script = (
        "import json, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from medical_tasks.models.bleurt import bleurt_identity, open_bleurt\n"
        "from medical_tasks.errors import UsageError\n"
        "pairs = [('abc', 'ab'), ('', 'a'), ('abc', 'ab')]\n"
        "scorer = open_bleurt(sys.argv[2])\n"
        "print(json.dumps([scorer.score(pairs), scorer.score([]), bleurt_identity(sys.argv[2])]))\n"
        "try:\n    open_bleurt(sys.argv[2], max_length=9)\n"
        "except UsageError as error:\n    print(error)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "site"), str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert [line for line in lines if "noise" in line] == []
    report: list[Any] = json.loads(
        next(line for line in lines if line.startswith("[["))
    )
    assert report[0] == [2.98, -0.01, 2.98]
    assert report[1] == []
    assert (report[2]["model"], report[2]["engine"]) == (
        "BLEURT-20",
        "bleurt (TensorFlow)",
    )
    assert "bleurt_config.json how long a pair can be" in lines[-1]
    assert "torch" not in process.stderr
