"""Local models of entailment with random weights, run in batches and one pair at a time."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.judges.base import LABELS, Label, Reply
from medical_tasks.judges.nli import (
    Columns,
    Form,
    NliJudge,
    answer_tokens,
    combine,
    find_family,
    open_nli,
    read_label,
    read_labels,
)
from medical_tasks.judges.windows import cut_windows, plan_windows
from medical_tasks.models.encoder import Row
from tests.case_tables import json_of, tables
from tests.judges.tiny_nli import answers, make_classifier, make_true, pairs

CASES = tables(__file__, "nli")

# Probabilities are compared with those of one pair alone, so they are computed on the
# CPU even where there is a GPU.
os.environ["CUDA_VISIBLE_DEVICES"] = ""

TWO = {0: "entailment", 1: "not_entailment"}
SHORT = pairs(60, seed=1)
LONG = pairs(4, seed=2, longest=90)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Makes models in folders that tests must not change."""
    folder = tmp_path_factory.mktemp("nli")
    return {
        "true": make_true(folder / "true-t5"),
        "bert": make_classifier(folder / "bert"),
        "roberta": make_classifier(folder / "roberta", TWO, kind="roberta"),
        "deberta": make_classifier(
            folder / "deberta",
            {0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"},
            kind="deberta",
        ),
    }


def open_it(folder: Path, **options: str) -> NliJudge:
    judge = open_nli(f"nli/{folder}", options)
    assert isinstance(judge, NliJudge)
    return judge


def labels_of(judge: NliJudge, pairs: Sequence[tuple[str, str]]) -> list[Label | None]:
    return [
        outcome.label if isinstance(outcome, Reply) else None
        for outcome in answers(judge, pairs)
    ]


def one_by_one(
    folder: Path, pairs: Sequence[tuple[str, str]]
) -> list[dict[str, float]]:
    """The plain loop with transformers alone: no padding, no batches, and from the package only the labels' meaning."""
    import torch
    from transformers import (
        AutoModelForSeq2SeqLM,
        AutoModelForSequenceClassification,
        AutoTokenizer,
    )

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    config = json_of(folder / "config.json")
    probabilities = []
    with torch.inference_mode():
        if config["model_type"] == "t5":
            model = AutoModelForSeq2SeqLM.from_pretrained(str(folder)).eval()
            yes, no = tokenizer("1")["input_ids"][0], tokenizer("0")["input_ids"][0]
            for premise, hypothesis in pairs:
                ids = tokenizer(
                    f"premise: {premise} hypothesis: {hypothesis}",
                    return_tensors="pt",
                    verbose=False,
                )["input_ids"]
                logits = model(
                    input_ids=ids, decoder_input_ids=torch.tensor([[0]])
                ).logits[0, 0, [yes, no]]
                probabilities.append(
                    dict(
                        zip(
                            ("entailment", "not_entailment"),
                            logits.softmax(-1).tolist(),
                            strict=True,
                        )
                    )
                )
        else:
            model = AutoModelForSequenceClassification.from_pretrained(
                str(folder)
            ).eval()
            names = [name.casefold() for _, name in sorted(config["id2label"].items())]
            for premise, hypothesis in pairs:
                logits = model(
                    **tokenizer(premise, hypothesis, return_tensors="pt")
                ).logits[0]
                probabilities.append(
                    dict(zip(names, logits.softmax(-1).tolist(), strict=True))
                )
    return probabilities


@pytest.mark.parametrize("kind", ["true", "bert", "roberta", "deberta"])
def test_batches_give_the_labels_of_a_loop(models: dict[str, Path], kind: str) -> None:
    judge = open_it(models[kind])
    labels = labels_of(judge, SHORT)
    expected = one_by_one(models[kind], SHORT)
    assert labels == [max(chances, key=chances.__getitem__) for chances in expected]
    # every label occurs; else a judge with one constant label would pass
    assert set(labels) == set(expected[0])
    form = judge._loaded
    encoded = form.encode(
        [premise for premise, _ in SHORT], [hypothesis for _, hypothesis in SHORT]
    )
    scores = form.score(encoded)  # much padding
    for row, chances in zip(scores, expected, strict=True):
        assert row == pytest.approx([chances[label] for label in form.labels], abs=1e-4)


@pytest.mark.parametrize("kind", ["true", "bert"])
@pytest.mark.parametrize("size", ["1", "7"])
def test_batch_size_changes_no_label(
    models: dict[str, Path], kind: str, size: str
) -> None:
    mixed = SHORT[:20] + LONG
    sized = open_it(models[kind], batch_size=size, max_length="120")
    plain = open_it(models[kind], max_length="120")
    assert answers(sized, mixed) == answers(plain, mixed)
    assert sized.identity == plain.identity


def test_long_premises_are_read_in_windows_without_a_warning(
    models: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    judge = open_it(models["bert"])
    assert judge.identity["max_length"] == "128"
    form = judge._loaded
    seen: list[Row] = []
    score = form.score
    form.score = lambda rows: seen.extend(rows) or score(rows)  # type: ignore[method-assign, func-returns-value]
    outcomes = answers(judge, LONG)
    assert len(seen) > 3 * len(LONG)
    assert max(len(row["input_ids"]) for row in seen) <= 128
    assert all(
        isinstance(outcome, Reply) and outcome.prompt_tokens for outcome in outcomes
    )
    judge = open_it(models["true"], max_length="256")
    assert labels_of(
        judge, [("The patient walks without a stick. " * 400, "An infant walks.")]
    ) != [None]
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


class StubForm(Form):
    """Words are tokens; a pair is entailed if the hypothesis is a run of words in the window of the premise."""

    def __init__(
        self,
        *,
        max_length: int,
        labels: tuple[Label, ...] = ("entailment", "neutral", "contradiction"),
    ) -> None:
        model = SimpleNamespace(
            device=SimpleNamespace(type="cpu"), config=SimpleNamespace(pad_token_id=0)
        )
        tokenizer = SimpleNamespace(
            pad_token_id=0, unk_token_id=None, all_special_ids=[0]
        )
        super().__init__(model, tokenizer, labels=labels, max_length=max_length)
        self.words: dict[str, int] = {}
        self.batches: list[int] = []
        self.room = 10**9

    def ids(self, text: str) -> list[int]:
        return [
            self.words.setdefault(word, len(self.words) + 1) for word in text.split()
        ]

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def encode(
        self, premises: Sequence[str], hypotheses: Sequence[str]
    ) -> list[Columns]:
        both = zip(premises, hypotheses, strict=True)
        return [
            {"input_ids": [*self.ids(premise), 0, *self.ids(hypothesis)]}
            for premise, hypothesis in both
        ]

    def score(self, rows: Sequence[Row]) -> list[list[float]]:
        import torch

        if len(rows) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")
        self.batches.append(len(rows))
        return [self.score_row([*row["input_ids"]]) for row in rows]

    def score_row(self, ids: list[int]) -> list[float]:
        cut = ids.index(0)
        premise, hypothesis = ids[:cut], ids[cut + 1 :]
        holds = any(
            premise[start : start + len(hypothesis)] == hypothesis
            for start in range(len(premise))
        )
        return [0.9, 0.05, 0.05] if holds else [0.1, 0.8, 0.1]


FILLER = " ".join(
    f"Filler number {number} says nothing at all about it." for number in range(200)
)


@pytest.mark.parametrize(
    "premise",
    [
        f"{FILLER} Rest helps most.",
        f"Rest helps most. {FILLER}",
        f"{FILLER} Rest helps most. {FILLER}",
        "word " * 1000 + "Rest helps most.",
    ],
    ids=["end", "start", "middle", "behind a sentence without end"],
)
def test_an_entailing_sentence_is_found_anywhere_in_a_long_premise(
    premise: str,
) -> None:
    judge = NliJudge("nli/stub", {}, StubForm(max_length=64))
    assert labels_of(
        judge, [(premise, "Rest helps most."), (premise, "Rest harms most.")]
    ) == [
        "entailment",
        "neutral",
    ]


def test_hypotheses_that_are_too_long_and_missing_pairs() -> None:
    judge = NliJudge("nli/stub", {}, StubForm(max_length=64))
    long_hypothesis = "word " * 40
    outcomes = answers(
        judge,
        [
            (FILLER, long_hypothesis),
            None,
            (FILLER, "Rest helps."),
            ("Short.", long_hypothesis),
        ],
    )
    assert [getattr(outcome, "reason", "") for outcome in outcomes] == [
        "prompt too long",
        "no pair",
        "",
        "",
    ]
    assert [getattr(outcome, "label", None) for outcome in outcomes[2:]] == [
        "neutral",
        "neutral",
    ]


def test_no_pairs_empty_texts_and_a_closed_judge(models: dict[str, Path]) -> None:
    judge = open_it(models["bert"])
    assert answers(judge, []) == []
    assert [outcome.key for outcome in answers(judge, [None])] == ["key 0"]
    assert labels_of(judge, [("", ""), (" ", "x")]).count(None) == 0
    judge.close()
    with pytest.raises(RuntimeError, match="was closed"):
        answers(judge, [("a", "b")])


@pytest.mark.parametrize("options", [{}, {"batch_size": 64}])
def test_a_full_memory_halves_the_batch(options: dict[str, int]) -> None:
    form = StubForm(max_length=64)
    form.room = 3
    judge = NliJudge("nli/stub", {}, form, **options)
    many_pairs = [
        (f"Rest {number} helps.", f"Rest {number} helps." if number % 3 else "No.")
        for number in range(50)
    ]
    assert labels_of(judge, many_pairs) == [
        "entailment" if number % 3 else "neutral" for number in range(50)
    ]
    assert max(form.batches) <= 3
    assert sum(form.batches) == 50
    assert len(form.batches) < 40  # halved, not reduced to one at once
    form.room = 0
    with pytest.raises(
        UsageError,
        match=r"too little memory for one pair of \d+ tokens: CUDA out of memory\.",
    ):
        answers(judge, many_pairs)


@given(lengths=st.lists(st.integers(0, 50), max_size=40), room=st.integers(1, 60))
def test_law_windows_hold_every_piece_and_fit(lengths: list[int], room: int) -> None:
    windows = cut_windows(lengths, room)
    assert {piece for start, end in windows for piece in range(start, end)} == set(
        range(len(lengths))
    )
    for start, end in windows:
        assert sum(lengths[start:end]) <= room or end == start + 1
    for (start, end), (next_start, next_end) in itertools.pairwise(windows):
        assert start < next_start <= end < next_end
        # They share a piece wherever it fits together with the new one.
        assert (
            next_start < end
            or end - start == 1
            or lengths[end - 1] + lengths[end] > room
        )


@given(
    text=st.text(alphabet="ab .!?\n", max_size=200)
    | st.lists(st.text(max_size=12), max_size=30).map(". ".join),
    room=st.integers(1, 30),
)
def test_law_no_letter_is_lost(text: str, room: int) -> None:
    spans = plan_windows(text, room, lambda texts: [len(piece) for piece in texts])
    covered = set()
    for start, end in spans:
        assert start < end
        assert end - start <= room
        covered |= set(range(start, end))
    assert covered == set(range(len(text)))
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)


def test_windows_are_whole_sentences_with_overlap() -> None:
    text = " ".join(f"Sentence number {number} has six words." for number in range(30))
    spans = plan_windows(
        text, 30, lambda texts: [len(piece.split()) for piece in texts]
    )
    windows = [text[start:end] for start, end in spans]
    assert all(
        window.strip().startswith("Sentence") and window.strip().endswith("words.")
        for window in windows
    )
    assert all(len(window.split()) == 30 for window in windows[:-1])
    assert all(
        window.split("Sentence")[-1].strip() in after
        for window, after in itertools.pairwise(windows)
    )
    assert len(windows) == 8  # 5 sentences each, of which one is shared


@pytest.mark.parametrize(
    ("windows", "label"),
    [*CASES["three_way_windows"].values(), *CASES["two_way_windows"]],
)
def test_windows_are_combined(windows: list[list[float]], label: str) -> None:
    labels = LABELS[:3] if len(windows[0]) == 3 else ("entailment", "not_entailment")
    assert combine(windows, labels) == label
    assert (
        len(labels) == 2
        or combine([row[::-1] for row in windows[::-1]], labels[::-1]) == label
    )


@pytest.mark.parametrize(("name", "label"), CASES["label_names"])
def test_label_of_a_name(name: str, label: Label | None) -> None:
    assert read_label(name) == label
    assert label is None or label in LABELS


@pytest.mark.parametrize(
    ("config", "given_labels", "expected"), CASES["labels_in_the_order"]
)
def test_labels_of_a_config(
    config: dict[str, object], given_labels: str | None, expected: str
) -> None:
    assert " ".join(read_labels(config, given_labels, model="nli/m")) == expected


@pytest.mark.parametrize(("architectures", "kind", "family"), CASES["families"])
def test_family_of_a_config(architectures: list[str], kind: str, family: str) -> None:
    config = {"architectures": architectures, "model_type": kind}
    assert find_family(config, model="nli/m") == family


@pytest.mark.parametrize(
    ("config", "given_labels", "message"), CASES["labels_that_mean_nothing"]
)
def test_labels_that_mean_nothing(
    config: dict[str, object], given_labels: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read_labels(config, given_labels, model="nli/m")


class _Tokens:
    """A tokenizer of the two answers alone."""

    unk_token_id = 2

    def __init__(self, yes: list[int], no: list[int]) -> None:
        self.table = {"1": yes, "0": no}

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": self.table[text]}


@pytest.mark.parametrize(
    ("yes", "no", "expected"),
    [
        ([209], [3, 632], ([], 209, 3)),  # as T5's own vocabulary has it
        ([10], [11], ([], 10, 11)),
        (
            [3, 17],
            [3, 18],
            ([3], 17, 18),
        ),  # a blank before each: the step after it decides
        *(
            (yes, no, None)
            for yes, no in (
                ([2], [2]),
                ([5], [2]),
                ([5], [5]),
                ([5, 6], [5]),
                ([], [5]),
            )
        ),
    ],
)
def test_the_token_at_which_the_answers_differ(
    yes: list[int], no: list[int], expected: tuple[list[int], int, int] | None
) -> None:
    cannot = pytest.raises(UsageError, match="cannot tell the answers 1 and 0 apart")
    with contextlib.nullcontext() if expected else cannot:
        assert answer_tokens(_Tokens(yes, no), model="nli/m") == expected


def test_the_official_form_is_the_authors_procedure(models: dict[str, Path]) -> None:
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    judge = open_it(models["true"], official="true")
    mixed = SHORT[:48] + LONG  # some of LONG are beyond 500 words
    assert any(len(premise.split()) > 500 for premise, _ in mixed)
    tokenizer = AutoTokenizer.from_pretrained(str(models["true"]))
    model = AutoModelForSeq2SeqLM.from_pretrained(str(models["true"])).eval()
    expected = []
    for premise, hypothesis in mixed:
        cut = " ".join(premise.split(" ")[:500])
        ids = tokenizer(
            f"premise: {cut} hypothesis: {hypothesis}",
            return_tensors="pt",
            verbose=False,
        )["input_ids"]
        with torch.inference_mode():
            written = model.generate(ids, max_new_tokens=3, do_sample=False)
        text = tokenizer.decode(written[0], skip_special_tokens=True)
        expected.append("entailment" if text == "1" else "not_entailment")
    assert labels_of(judge, mixed) == expected
    assert set(expected) == {"entailment", "not_entailment"}
    assert judge.identity["max_length"] == "500 words"
    form = judge._loaded
    longer = " ".join(f"w{number}" for number in range(502))
    assert form.encode([longer], ["No."]) == form.encode(
        [longer.replace(" w500 w501", "")], ["No."]
    )
    assert form.encode([longer], ["No."]) != form.encode(
        [longer.replace(" w499 w500 w501", "")], ["No."]
    )


@pytest.mark.parametrize(
    ("kind", "mark"),
    [("true", "</s>"), ("true", "<pad>"), ("bert", "[SEP]"), ("deberta", "[CLS]")],
)
def test_special_tokens_in_a_judged_text_are_text(
    models: dict[str, Path], kind: str, mark: str
) -> None:
    judge = open_it(models[kind])
    form = judge._loaded
    special = form.tokenizer.convert_tokens_to_ids(mark)
    (clean,) = form.encode(["Rest helps"], ["It does"])
    (planted,) = form.encode([f"Rest helps {mark}"], [f"It {mark} does"])
    assert planted["input_ids"].count(special) == clean["input_ids"].count(special)
    (bare,) = form.encode(["Rest helps"], [mark])
    assert bare["input_ids"].count(special) == clean["input_ids"].count(special)
    assert (
        form.encode([f"Rest helps {mark}"] * 2, [f"It {mark} does", "It"])[0] == planted
    )


@pytest.mark.parametrize("kind", ["true", "bert"])
def test_half_precision(models: dict[str, Path], kind: str) -> None:
    import torch

    judge = open_it(models[kind], dtype="bfloat16")
    assert judge._loaded.model.dtype == torch.bfloat16
    assert judge.identity["dtype"] == "bfloat16"
    plain = open_it(models[kind])
    assert plain.identity["dtype"] == "float32"
    same = [
        half == full
        for half, full in zip(
            labels_of(judge, SHORT), labels_of(plain, SHORT), strict=True
        )
    ]
    # random weights have near ties, which three digits move
    assert sum(same) > 0.8 * len(same)


def test_identity(models: dict[str, Path], tmp_path: Path) -> None:
    judge = open_it(models["bert"])
    assert (judge.comparable, judge.samples, judge.endpoint, judge.reads) == (
        True,
        False,
        None,
        "pair",
    )
    assert dict(judge.identity) | {"weights": "", "engine": ""} == {
        "kind": "nli", "model": "bert", "weights": "", "form": "classifier", "official": "false",
        "labels": "contradiction,neutral,entailment", "max_length": "128", "windows": "1", "dtype": "float32",
        "device": "cpu", "engine": "",
    }  # fmt: skip
    moved = shutil.copytree(models["bert"], tmp_path / "bert")
    assert open_it(moved).identity == judge.identity
    config = json_of(moved / "config.json")
    (moved / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 0.5}))
    assert open_it(moved).identity["weights"] != judge.identity["weights"]


def test_given_labels_replace_the_configs(models: dict[str, Path]) -> None:
    turned = open_it(models["bert"], labels="entailment,neutral,contradiction")
    assert turned.identity["labels"] == "entailment,neutral,contradiction"
    swap = {
        "entailment": "contradiction",
        "contradiction": "entailment",
        "neutral": "neutral",
    }
    assert labels_of(turned, SHORT[:30]) == [
        swap[str(label)] for label in labels_of(open_it(models["bert"]), SHORT[:30])
    ]


@pytest.mark.parametrize(("kind", "options", "message"), CASES["bad_options"])
def test_bad_options(
    models: dict[str, Path], kind: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        open_nli(f"nli/{models[kind]}", options)


def test_missing_models_and_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, models: dict[str, Path]
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(MissingError, match="no such folder"):
        open_nli(f"nli/{tmp_path}/absent", {})
    with pytest.raises(
        MissingError, match=r"hf download medical-tasks-tests/absent-model"
    ):
        open_nli("nli/medical-tasks-tests/absent-model", {})
    with pytest.raises(MissingError, match="no config.json"):
        open_nli(f"nli/{tmp_path}", {})
    for name in ("nli/", "bert"):
        with pytest.raises(UsageError, match="name the judge nli/"):
            open_nli(name, {})
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == "torch" else find(name),
    )
    with pytest.raises(
        MissingError, match=r"needs torch: pip install 'accelerate>=1.0' 'torch>=2.7'"
    ):
        open_nli(f"nli/{models['bert']}", {})


def _changed(model: Path, folder: Path, **config: Any) -> Path:
    shutil.copytree(model, folder)
    before = json_of(folder / "config.json")
    (folder / "config.json").write_text(json.dumps({**before, **config}))
    return folder


@pytest.mark.parametrize(("config", "message"), CASES["models_that_do_not_fit"])
def test_models_that_do_not_fit(
    models: dict[str, Path], tmp_path: Path, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        open_nli(f"nli/{_changed(models['bert'], tmp_path / 'changed', **config)}", {})


def test_models_that_lack_a_file(models: dict[str, Path], tmp_path: Path) -> None:
    empty = _changed(models["bert"], tmp_path / "empty")
    (empty / "model.safetensors").unlink()
    with pytest.raises(MissingError, match="no weights"):
        open_nli(f"nli/{empty}", {})
    mute = _changed(models["true"], tmp_path / "mute")
    (mute / "tokenizer.json").write_text("{}")
    with pytest.raises(UsageError, match="its tokenizer does not load"):
        open_nli(f"nli/{mute}", {})


def test_code_of_a_model_is_not_run(models: dict[str, Path], tmp_path: Path) -> None:
    mark = tmp_path / "it ran"
    code = {
        "AutoConfig": "evil.Config",
        "AutoModelForSequenceClassification": "evil.Model",
    }
    folder = _changed(models["bert"], tmp_path / "own", model_type="own", auto_map=code)
    (folder / "evil.py").write_text(f"open({str(mark)!r}, 'w')\n")
    with pytest.raises(UsageError, match="does not load"):
        open_nli(f"nli/{folder}", {})
    assert not mark.exists()
