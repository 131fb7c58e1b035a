"""What K-QA declares: names that other parts and the documents rely on."""

from __future__ import annotations

import math

from medical_tasks.benchmarks.catalog import BENCHMARKS, dataset_spec, tasks
from medical_tasks.benchmarks.kqa.spec import BENCHMARK, DATASET, KQA, KQA_ICL, KQA_ICL_RAG, KQA_RAG, METRICS


def test_the_benchmark_is_in_the_catalog() -> None:
    assert BENCHMARK in BENCHMARKS
    assert dataset_spec("kqa") is DATASET
    assert [name for name in tasks() if name.startswith("kqa")] == ["kqa", "kqa_icl", "kqa_rag", "kqa_icl_rag"]


def test_tasks() -> None:
    assert BENCHMARK.tasks == (KQA, KQA_ICL, KQA_RAG, KQA_ICL_RAG)
    for task in BENCHMARK.tasks:
        assert (task.version, task.judge, task.cluster, task.dataset) == ("2-A", True, None, "kqa")
        assert task.metrics == METRICS
    assert KQA.arguments == KQA_ICL.arguments == {}
    assert list(KQA_RAG.arguments) == list(KQA_ICL_RAG.arguments) == ["documents", "top_k", "chunk_words"]


def test_metrics() -> None:
    described = {metric.name: (metric.kind, metric.higher_is_better, metric.limits) for metric in METRICS}
    share, count = (0.0, 1.0), (0.0, math.inf)
    assert described == {
        "comprehensiveness": ("mean", True, share),
        "hallucination_rate": ("mean", False, count),
        "comprehensiveness_answered": ("mean", True, share),
        "hallucination_rate_answered": ("mean", False, count),
        "contradicted": ("proportion", False, share),
        "answered": ("proportion", True, share),
        "words": ("mean", False, count),
        "comprehensiveness_official": ("mean", True, share),
        "comprehensiveness_norm_official": ("mean", True, share),
        "hallucination_official": ("mean", False, count),
        "hallucination_norm_official": ("mean", False, count),
    }
    assert next(iter(described)) == "comprehensiveness"


def test_the_dataset() -> None:
    assert DATASET.configs == ("answered", "questions", "own", "demo")
    assert (DATASET.default_config, DATASET.access, DATASET.licence) == ("answered", "open", "MIT")
    for author in (
        "Itay Manes",
        "Naama Ronn",
        "David Cohen",
        "Ran Ilan Ber",
        "Zehavi Horowitz-Kugler",
        "Gabriel Stanovsky",
    ):
        assert author in DATASET.citation
