from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.scoring import similarities, similarity_identity
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.errors import MissingError
from medical_tasks.models import embedder as models
from medical_tasks.models.embedder import CLINICAL_BERT, MINILM, open_embedder
from tests.models.tiny_embedder import LIMIT, TEXTS, make_bert


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


def cosine(folder: Path, one: str, other: str) -> float:
    """Each text alone, with transformers and numpy."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    means = []
    for text in (one, other):
        with torch.no_grad():
            states = model(**tokenizer(text, truncation=True, max_length=LIMIT, return_tensors="pt")).last_hidden_state
        means.append(states[0].double().numpy().mean(axis=0))
    return float(means[0] @ means[1] / (np.linalg.norm(means[0]) * np.linalg.norm(means[1])))


def test_cosines_of_pairs(bert: Path) -> None:
    pairs = [(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[4]), (TEXTS[1], TEXTS[0])]
    found = similarities("clinical_bert", bert, pairs)
    assert found == pytest.approx([cosine(bert, *pair) for pair in pairs], abs=1e-5)
    assert found[0] == found[2]
    assert all(isinstance(value, float) and -1 <= value < 1 for value in found)


def test_the_gold_has_exactly_one_and_nothing_exactly_zero(bert: Path) -> None:
    pairs = [*((text, text) for text in TEXTS), ("", TEXTS[0]), (" \n", TEXTS[0]), (TEXTS[0], ""), ("", "")]
    assert similarities("sentence_bert", str(bert), pairs) == [1.0] * len(TEXTS) + [0.0] * 4
    assert similarities("sentence_bert", bert, []) == []


def test_opened_once_and_each_text_read_once(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    read: list[int] = []

    def counting(*args: Any, **settings: Any) -> Any:
        embedder = open_embedder(*args, **settings)
        vectors = embedder._vectors

        def counted(rows: Any) -> Any:
            read.append(len(rows))
            return vectors(rows)

        embedder._vectors = counted  # type: ignore[method-assign]
        opened.append(embedder)
        return embedder

    monkeypatch.setattr(models, "open_embedder", counting)
    similarities("sentence_bert", bert, [(text, TEXTS[0]) for text in (*TEXTS, *TEXTS, f" {TEXTS[1]} ")])
    assert len(opened) == 1
    assert sum(read) == len(TEXTS)
    with pytest.raises(RuntimeError, match="was closed"):
        opened[0].embed(["no"])


def test_texts_that_are_cut_are_told(bert: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = " ".join(TEXTS)
    similarities("clinical_bert", bert, [(long, TEXTS[0]), (TEXTS[1], f"{long} {long}"), (long, TEXTS[2])])
    told = capsys.readouterr().err
    assert told == "note: clinical_bert: 2 of 5 texts are longer than 24 tokens and were cut there\n"
    similarities("clinical_bert", bert, [(TEXTS[0], TEXTS[1])])
    assert capsys.readouterr().err == ""


def test_the_identity_is_for_the_recipe(bert: Path) -> None:
    identity = similarity_identity(bert)
    assert (identity["model"], identity["pooling"], len(identity["weights"])) == ("tiny-bert", "mean", 64)
    assert str(bert.parent) not in json.dumps(identity)


def test_what_is_missing_is_told_by_metric(tmp_path: Path) -> None:
    metrics = {metric.name for task in TASKS for metric in task.metrics if metric.needs}
    checkpoints = {"sentence_bert": MINILM, "clinical_bert": CLINICAL_BERT}
    assert metrics == set(checkpoints)
    for name, repository in checkpoints.items():
        with pytest.raises(
            MissingError, match=f"hf download {repository} --revision [0-9a-f]{{40}} --local-dir models/"
        ):
            similarities(name, tmp_path / "none", [("a", "b")])


@settings(deadline=None, max_examples=8)
@given(st.lists(st.tuples(st.sampled_from(["", *TEXTS]), st.sampled_from(["", *TEXTS])), max_size=5))
def test_neither_text_comes_first(bert: Path, pairs: list[tuple[str, str]]) -> None:
    found = similarities("sentence_bert", bert, pairs)
    turned = similarities("sentence_bert", bert, [(other, one) for one, other in pairs])
    assert found == pytest.approx(turned, abs=1e-5)
    assert all(
        value == (1.0 if one and one == other else 0.0)
        for value, (one, other) in zip(found, pairs, strict=True)
        if not one or one == other
    )
