"""EHRNoteQA: clinicians' questions over the discharge summaries of a patient, open-ended and with five choices.

Kweon et al., "EHRNoteQA: An LLM Benchmark for Real-World Clinical Practice Using Discharge Summaries", NeurIPS 2024 Datasets
and Benchmarks, https://arxiv.org/abs/2402.16040. Reference implementation: https://github.com/ji-youn-kim/EHRNoteQA.

    spec             the dataset, the tasks and metrics
    data             rows from the user's PhysioNet copies to items; `notes` and `questions` read the files, `evidence` more sets
    twin             synthetic files of the official shape, any size; `demo` is a small one
    prompts          how an item is asked
    judging          how a judge is asked about an answer (`judge_prompts`), and its verdicts
    scoring          answers and verdicts to accuracy; `letters` reads a choice without a judge
    checking         a judge against clinicians' scores
    construction     making the same benchmark on one's own notes (docs/ehrnoteqa_construction.md)

    medical-tasks build ehrnoteqa --source FOLDER
    medical-tasks run --tasks ehrnoteqa_open_level1 --model MODEL --judge JUDGE
    medical-tasks run --tasks ehrnoteqa_mc_prob_index_level1 --model MODEL
    python -m medical_tasks.benchmarks.ehrnoteqa.twin --out FOLDER
"""
