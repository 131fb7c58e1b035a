from __future__ import annotations

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.alignscore import (
    MODES,
    Mode,
    alignscore_identity,
    cut_pair,
    open_alignscore,
)
from medical_tasks.scoring.sentences import split_sentences
from tests.case_tables import json_of
from tests.models.tiny_alignscore import (
    CLAIMS,
    CONTEXTS,
    LIMIT,
    make_alignscore,
    make_roberta,
    plain_score,
)
from tests.support import SHARED, needs_shared

pytestmark = pytest.mark.usefixtures("one_thread")

Paths = tuple[Path, Path]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    return make_alignscore(tmp_path_factory.mktemp("align"))


@pytest.fixture(scope="module")
def scorer(paths: Paths) -> Any:
    return open_alignscore(paths[0], backbone=paths[1])


@pytest.mark.upstream
@needs_shared
def test_scores_are_those_recorded_from_the_reference() -> None:
    folder = SHARED / "fixtures" / "alignscore"
    cases = json_of(folder / "expected.json")["cases"]
    assert len(cases) >= 11
    scorer = open_alignscore(
        folder / "tiny-align.ckpt", backbone=folder / "tiny-roberta", sentences="punkt"
    )
    contexts, claims = ([case[side] for case in cases] for side in ("context", "claim"))
    for mode in ("nli_sp", "bin_sp", "reg_sp", "nli", "bin"):
        assert scorer.score(contexts, claims, mode=mode) == pytest.approx(
            [case[mode] for case in cases], abs=1e-5
        ), mode
    assert scorer.truncated == 2  # of the whole pairs
    assert scorer.identity["max_length"] == "512"


@pytest.mark.parametrize("mode", MODES)
def test_scores_are_those_of_each_pair_alone_by_transformers(
    paths: Paths, scorer: Any, mode: Mode
) -> None:
    scores = scorer.score(CONTEXTS, CLAIMS, mode=mode)
    head = mode.removesuffix("_sp")
    for context, claim, score in zip(CONTEXTS, CLAIMS, scores, strict=True):
        chunks, sentences = [context], [claim]
        if mode.endswith("_sp"):  # fewer than 350 words: one chunk
            chunks, sentences = (
                [" ".join(split_sentences(context))],
                split_sentences(claim),
            )
        best = [
            max(plain_score(*paths, chunk, sentence, head) for chunk in chunks)
            for sentence in sentences
        ]
        assert score == pytest.approx(sum(best) / len(best), abs=1e-5)
    assert scorer.truncated >= 1
    # pairs have different scores
    assert len({round(score, 4) for score in scores}) == len(scores)


def test_a_score_is_the_mean_over_sentences_of_the_best_chunk(scorer: Any) -> None:
    # 400 words in two sentences: two chunks of one sentence each.
    first, second = "heparin " * 199 + "given.", "Lasix " * 199 + "given."
    claim, another = "He was given Lasix.", "The scan was normal."
    pairs = [
        [
            scorer.score([chunk], [sentence], mode="nli")[0]
            for chunk in (first, "Lasix" + second[5:])
        ]
        for sentence in (claim, another)
    ]
    score = scorer.score([f"{first} {second}"], [f"{claim} {another}"])[0]
    assert score == pytest.approx((max(pairs[0]) + max(pairs[1])) / 2, abs=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_a_claim_without_words_scores_0(scorer: Any, mode: Mode) -> None:
    claims = ["", " \n\t", "\u2003"]
    assert scorer.score(["The scan was normal."] * 3, claims, mode=mode) == [0.0] * 3


def test_an_empty_context_and_no_pairs(scorer: Any) -> None:
    assert scorer.score([""], ["The scan was normal."])[0] != 0.0
    assert scorer.score([], []) == []


def test_special_tokens_in_a_text_are_text(scorer: Any) -> None:
    ids = scorer._rows([("a</s></s>b", "<s>no<pad>")])[0]["input_ids"]
    # end tokens of the pair: one after the first text, one before and one after the
    # second
    assert ids.count(2) == 4 - 1
    assert (ids.count(0), ids.count(1)) == (1, 0)


@pytest.mark.parametrize(
    ("contexts", "claims", "mode", "message"),
    [
        (
            ["a"],
            ["b"],
            "tri",
            "mode must be one of nli_sp, nli, bin_sp, bin, reg_sp, reg; got 'tri'",
        ),
        (["a", "b"], ["c"], "nli", "of the same length; got 2 and 1"),
        (["a"], "b", "nli", "claims must be a list of texts; got str"),
        ([None], ["b"], "nli", "contexts must be a list of texts; got NoneType"),
    ],
)
def test_messages_about_wrong_input(
    scorer: Any, contexts: Any, claims: Any, mode: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        scorer.score(contexts, claims, mode=mode)


def test_the_identity_has_what_decides_a_score_and_no_path(
    paths: Paths, tmp_path: Path
) -> None:
    file, backbone = paths
    identity = alignscore_identity(file, backbone=backbone)
    assert identity == open_alignscore(str(file), backbone=str(backbone)).identity
    assert (identity["model"], identity["sentences"], identity["max_length"]) == (
        "tiny",
        "medical 1",
        str(LIMIT),
    )
    assert str(file.parent) not in json.dumps(identity)
    assert (
        alignscore_identity(file, backbone=backbone, sentences="punkt")["sentences"]
        == "punkt untrained"
    )
    copy = Path(shutil.copytree(backbone, tmp_path / "copy"))
    (copy / "model.safetensors").unlink()  # the backbone's own weights are not read
    assert alignscore_identity(file, backbone=copy) == identity
    (copy / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert alignscore_identity(file, backbone=copy)["backbone"] != identity["backbone"]


def test_messages_about_missing_files(paths: Paths, tmp_path: Path) -> None:
    file, backbone = paths
    with pytest.raises(
        MissingError,
        match=r"AlignScore-base.ckpt: no such file.*hf download yzha/AlignScore",
    ):
        open_alignscore(tmp_path / "AlignScore-base.ckpt", backbone=backbone)
    with pytest.raises(
        MissingError,
        match=r"no folder with a config.json.*hf download FacebookAI/roberta-base",
    ):
        open_alignscore(file, backbone=tmp_path)
    with pytest.raises(
        UsageError,
        match="sentences must be medical, punkt, or a folder of NLTK's punkt_tab; got 'nltk'",
    ):
        open_alignscore(file, backbone=backbone, sentences="nltk")
    with pytest.raises(MissingError, match=r"curl -O https://\S+/punkt_tab\.zip"):
        open_alignscore(file, backbone=backbone, sentences=tmp_path)


def refused(checkpoint: Path, backbone: Path, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_alignscore(checkpoint, backbone=backbone).score(["a"], ["b"])


def test_messages_about_a_backbone_of_another_size(
    paths: Paths, tmp_path: Path
) -> None:
    wide, deep = tmp_path / "wide", tmp_path / "deep"
    make_roberta(wide, width=48)
    make_roberta(deep, layers=3)
    refused(
        paths[0],
        wide,
        r"tiny.ckpt does not fit the backbone wide.*trained on tiny-roberta",
    )
    refused(
        paths[0],
        deep,
        "does not fit the backbone deep: 16 weights are missing and 0 have no place",
    )


def test_messages_about_broken_checkpoints(paths: Paths, tmp_path: Path) -> None:
    import torch

    file, backbone = paths
    broken = tmp_path / "broken.ckpt"
    content = torch.load(file, weights_only=True)
    bias = content["state_dict"].pop("tri_layer.bias")
    torch.save(content, broken)
    refused(broken, backbone, "its tri_layer must have 3 outputs of 32 inputs")
    content["state_dict"]["tri_layer.bias"] = bias * float("nan")
    torch.save(content, broken)
    refused(broken, backbone, "broken gives numbers that are not finite")
    torch.save({"weights": {}}, broken)
    refused(broken, backbone, "no state_dict with base_model")
    # unpickling this object calls code
    torch.save({"state_dict": {}, "x": Path("x")}, broken)
    refused(
        broken, backbone, "holds more than tensors, and reading that could run code"
    )
    for raw in (file.read_bytes()[:5000], b"no"):
        broken.write_bytes(raw)
        refused(broken, backbone, "broken.ckpt")


def test_pairs_are_cut_as_the_tokenizer_cuts_them() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(
        models.WordLevel(
            {"[UNK]": 0, "<s>": 1, "</s>": 2, "a": 3, "b": 4}, unk_token="[UNK]"
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
    for context, claim, room in product(range(31), range(31), (7, 12)):
        texts = ("a " * context, "b " * claim)
        tokenizer.no_truncation()
        whole = tokenizer.encode(*texts)
        tokenizer.enable_truncation(room + 4, strategy="only_first")
        try:
            cut = tokenizer.encode(*texts)
        except (
            Exception
        ):  # tokenizers raise a bare Exception; the reference then cuts both texts
            tokenizer.enable_truncation(room + 4, strategy="longest_first")
            cut = tokenizer.encode(*texts)
        kept = whole.ids
        if len(kept) > room + 4:
            kept = [
                whole.ids[position]
                for position in cut_pair(whole.sequence_ids, room + 4)
            ]
        assert kept == cut.ids, (context, claim, room)
