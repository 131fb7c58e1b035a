"""K-QA: questions patients asked, answers that physicians took apart into statements.

Manes et al., "K-QA: A Real-World Medical Q&A Benchmark", BioNLP 2024, https://arxiv.org/abs/2401.14493.
Reference implementation: https://github.com/Itaymanes/K-QA.

    spec             datasets, tasks and metrics
    data             rows of the official JSON Lines files, and of the synthetic questions, to items
    prompts          how an item is asked (docs/kqa.md)
      retrieval        which passages of `documents` a question is given
    judge_prompts    how a judge is asked about a statement, and its reply read
    scoring          answers and verdicts to comprehensiveness and hallucination rate (docs/kqa_scoring.md)

    medical-tasks run --tasks kqa --model MODEL --judge JUDGE
    medical-tasks run --tasks kqa_rag --model MODEL --judge JUDGE --task-args documents=FOLDER
    medical-tasks score kqa --responses FILE.jsonl --judge JUDGE
"""
