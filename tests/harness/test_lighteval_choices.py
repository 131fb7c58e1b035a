"""Tasks that ask how probable choices are, in lighteval's own loop: its model, our questions and scorer."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.models.base import ChoiceScores
from medical_tasks.models.stand_ins import make_toy_model
from tests.choice_benchmark.spec import ROWS, TASK
from tests.models.choice_runs import choose, scores

pytestmark = pytest.mark.slow

NAMES = ["accuracy", "logprob", "n_tokens"]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from medical_tasks.harness.lighteval_adapter import task_configs

    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path))
    # lighteval's table is made where the data are not there too.
    configs = task_configs((TASK,))
    assert [config.name for config in configs] == [TASK.harness_name, TASK.name]
    return configs[0]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [f"{row['question']} {' '.join(row['choices'])}" for row in ROWS] * 3
    return make_toy_model(tmp_path_factory.mktemp("harness") / "toy", texts)


def docs(config: Any) -> list[Any]:
    kept = [row for row in ROWS if config.hf_filter(row)]
    assert len(kept) == 3 < len(ROWS)
    return [config.prompt_function(dict(row), config.name) for row in kept]


def lighteval_scores(toy: Path, questions: list[Any]) -> list[Any]:
    """Scores of lighteval's own transformers model, with its chat template and tokens."""
    from lighteval.models.transformers import transformers_model as backend

    from medical_tasks.models.checkpoint import without_cache_and_bars

    with without_cache_and_bars(backend):
        model = backend.TransformersModel(
            backend.TransformersModelConfig(
                model_name=str(toy), batch_size=8, dtype="float32", device="cpu"
            )
        )
        assert model.use_chat_template
        responses: list[Any] = model.loglikelihood(questions)
    model.cleanup()
    return responses


def our_scores(toy: Path, questions: list[Any]) -> list[ChoiceScores]:
    from medical_tasks.models.lighteval_models import open_hf

    model = open_hf(f"hf/{toy}", options={})
    requests = [choose(doc.specific["id"], doc.query, doc.choices) for doc in questions]
    by_key = scores(model, requests)
    model.close()
    return [by_key[request.key] for request in requests]


def test_questions_have_the_prompts_continuations(config: Any) -> None:
    from lighteval.tasks.requests import SamplingMethod

    for doc in docs(config):
        assert doc.choices == ["A", "B", "C"]
        assert doc.choices[doc.gold_index] == doc.specific["answer"]
    (metric,) = config.metrics
    assert metric.category == SamplingMethod.LOGPROBS
    # What needs a setting of the scoring is left out.
    assert metric.metric_name == NAMES == list(metric.corpus_level_fn)
    # The filter can be copied to another process, as datasets does it.
    dill: Any = importlib.import_module("dill")
    copied = dill.loads(dill.dumps(config.hf_filter))
    assert [copied(row) for row in ROWS] == [row["level"] == 1 for row in ROWS]


def test_the_numbers_are_those_of_our_own_runner(config: Any, toy: Path) -> None:
    from medical_tasks.harness.lighteval_adapter import choices_texts

    questions = docs(config)
    (metric,) = config.metrics
    expected = our_scores(toy, questions)
    for doc, response, ours in zip(
        questions, lighteval_scores(toy, questions), expected, strict=True
    ):
        (text,) = choices_texts(response, 3)
        theirs = ChoiceScores.from_text(text)
        assert theirs.tokens == ours.tokens == (1, 1, 1)
        assert theirs.logprobs == pytest.approx(ours.logprobs, abs=1e-4)
        right = ours.logprobs[doc.gold_index]
        scored = metric.compute_sample(model_response=response, doc=doc)
        assert list(scored) == NAMES
        assert scored["logprob"] == pytest.approx(right, abs=1e-4)
        assert scored["accuracy"] == (
            right == max(value for value in ours.logprobs if value is not None)
        )
    assert len({choice_scores.logprobs for choice_scores in expected}) == 3


def test_white_space_at_the_templates_end_adds_the_same_to_every_choice(
    config: Any, toy: Path
) -> None:
    """lighteval counts it as part of each choice; our runner as part of the question."""
    from medical_tasks.harness.lighteval_adapter import choices_texts

    config_file = toy / "chat_template.jinja"
    before = config_file.read_text(encoding="utf-8")
    turns = before.replace(
        "{% if add_generation_prompt %}<|assistant|>",
        "{% if add_generation_prompt %}<|assistant|>\n",
    )
    assert turns != before
    config_file.write_text(turns, encoding="utf-8")
    try:
        questions = docs(config)
        rows = list(
            zip(
                questions,
                lighteval_scores(toy, questions),
                our_scores(toy, questions),
                strict=True,
            )
        )
    finally:
        config_file.write_text(before, encoding="utf-8")
    for doc, response, ours in rows:
        possible = [ChoiceScores.from_text(text) for text in choices_texts(response, 3)]
        # lighteval reports the tokens of two of three.
        assert [choice_scores.tokens for choice_scores in possible] == [
            (2, 2, 1),
            (2, 2, 2),
        ]
        assert ours.tokens == (1, 1, 1)
        gaps = [
            (our_logprob or 0.0) - (their_logprob or 0.0)
            for our_logprob, their_logprob in zip(
                ours.logprobs, possible[0].logprobs, strict=True
            )
        ]
        assert gaps == pytest.approx([gaps[0]] * 3, abs=1e-4)
        assert gaps[0] > 0.1
        (metric,) = config.metrics
        scored = metric.compute_sample(model_response=response, doc=doc)
        assert math.isnan(scored.pop("n_tokens"))
        assert not any(map(math.isnan, scored.values()))


def response(logprobs: list[float], tokens: Any) -> Any:
    return SimpleNamespace(logprobs=logprobs, output_tokens=tokens)


def choice_records(logprobs: list[float], tokens: Any) -> list[dict[str, Any]]:
    from medical_tasks.harness.lighteval_adapter import choices_texts

    return [
        json.loads(text)
        for text in choices_texts(response(logprobs, tokens), len(logprobs))
    ]


def test_tokens_are_counted_without_padding() -> None:
    import torch

    assert choice_records([-1.0, -2.5], [[4, 5, 6], [0]]) == [
        {"logprobs": [-1.0, -2.5], "tokens": [3, 1]}
    ]
    padded = torch.tensor([[4, 5, 6], [0, -1, -1]])
    assert choice_records([-1.0, 1e-7], padded) == [
        {"logprobs": [-1.0, 0.0], "tokens": [3, 1]}
    ]
    # Every number of tokens that is possible is tried.
    letters = choice_records([-1.0] * 5, torch.tensor([[7]]))
    assert [record["tokens"] for record in letters] == [[1] * 5]
    rows = choice_records(
        [-1.0] * 5, torch.tensor([[7, 8, 9], [7, -1, -1], [7, 8, -1]])
    )
    assert [record["tokens"] for record in rows] == [
        [3, 1, 2, last_but_one, last]
        for last_but_one in (1, 2, 3)
        for last in (1, 2, 3)
    ]
    with pytest.raises(
        UsageError, match="does not say how many tokens 14 of 16 choices have"
    ):
        choice_records([-1.0] * 16, torch.tensor([[7, 8], [7, 8]]))


def test_only_values_on_which_all_possibilities_agree_are_kept() -> None:
    from medical_tasks.harness.lighteval_adapter import agreed

    values = agreed(
        [{"a": 1.0, "b": 0.0, "c": math.nan}, {"a": 1.0, "b": 1.0, "c": math.nan}],
        ["a", "b", "c", "d"],
    )
    assert values["a"] == 1.0
    assert [name for name, value in values.items() if math.isnan(value)] == [
        "b",
        "c",
        "d",
    ]
    assert math.isnan(agreed([], ["a"])["a"])


@pytest.mark.parametrize(
    ("logprobs", "tokens"),
    [([-1.0], [[1], [2]]), ([-1.0, -2.0], []), ([-1.0, -2.0], [[1]])],
)
def test_a_backend_without_token_counts_is_refused(
    logprobs: list[float], tokens: list[list[int]]
) -> None:
    from medical_tasks.harness.lighteval_adapter import choices_texts

    with pytest.raises(
        UsageError,
        match=r"gives \d log-probabilities and the tokens of \d .* of 2 choices.*accelerate",
    ):
        choices_texts(response(logprobs, tokens), 2)


def test_nan_is_no_score(config: Any, caplog: pytest.LogCaptureFixture) -> None:
    doc = docs(config)[0]
    scored = config.metrics[0].compute_sample(
        model_response=response([-1.0, math.nan, -2.0], [[1], [2], [3]]), doc=doc
    )
    assert list(scored) == NAMES
    assert all(math.isnan(value) for value in scored.values())
    assert (
        "does not tell enough of a question for accuracy, logprob, n_tokens"
        in caplog.text
    )
    assert config.metrics[0].corpus_level_fn["accuracy"]([1.0, math.nan]) == 1.0
