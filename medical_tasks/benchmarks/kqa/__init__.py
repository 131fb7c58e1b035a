"""K-QA: questions patients asked, answers that physicians took apart into statements.

Manes et al., "K-QA: A Real-World Medical Q&A Benchmark", BioNLP 2024,
https://arxiv.org/abs/2401.14493. Reference implementation:
https://github.com/Itaymanes/K-QA.

    medical-tasks run --tasks kqa --model MODEL --judge JUDGE
    medical-tasks run --tasks kqa_rag --model MODEL --judge JUDGE --task-args documents=FOLDER
    medical-tasks score kqa --responses FILE.jsonl --judge JUDGE
"""
