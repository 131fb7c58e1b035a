"""K-QA in inspect.

inspect eval medical_tasks/kqa --model openai-api/local/my-model
inspect eval medical_tasks/kqa_rag --model openai-api/local/my-model -T documents=FOLDER -T top_k=3
"""

from __future__ import annotations

from inspect_ai import Task, task

from medical_tasks.benchmarks.kqa.spec import DATASET, KQA, KQA_ICL, KQA_ICL_RAG, KQA_RAG
from medical_tasks.harness.inspect_adapter import load

__all__ = ["kqa", "kqa_icl", "kqa_icl_rag", "kqa_rag"]


@task
def kqa(config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None) -> Task:
    """The question alone."""
    return load(KQA, DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def kqa_icl(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Instructions and three worked examples."""
    return load(KQA_ICL, DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def kqa_rag(
    config: str | None = None,
    data: str | None = None,
    prompts: str = "own",
    upstream: str | None = None,
    documents: str | None = None,
    top_k: int | None = None,
    chunk_words: int | None = None,
) -> Task:
    """Passages retrieved from documents: a folder of yours, or the one that `MEDICAL_TASKS_DOCUMENTS` names."""
    arguments = {"documents": documents, "top_k": top_k, "chunk_words": chunk_words}
    return load(KQA_RAG, DATASET, config=config, data=data, prompts=prompts, upstream=upstream, arguments=arguments)


@task
def kqa_icl_rag(
    config: str | None = None,
    data: str | None = None,
    prompts: str = "own",
    upstream: str | None = None,
    documents: str | None = None,
    top_k: int | None = None,
    chunk_words: int | None = None,
) -> Task:
    """Instructions, worked examples and retrieved passages."""
    arguments = {"documents": documents, "top_k": top_k, "chunk_words": chunk_words}
    return load(KQA_ICL_RAG, DATASET, config=config, data=data, prompts=prompts, upstream=upstream, arguments=arguments)
