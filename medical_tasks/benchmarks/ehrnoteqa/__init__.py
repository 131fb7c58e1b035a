"""EHRNoteQA: clinicians' questions over the discharge summaries of a patient, open-ended and with five choices.

Kweon et al., "EHRNoteQA: An LLM Benchmark for Real-World Clinical Practice Using Discharge Summaries", NeurIPS 2024 Datasets
and Benchmarks, https://arxiv.org/abs/2402.16040. Reference implementation: https://github.com/ji-youn-kim/EHRNoteQA.

    spec             the dataset, the tasks and metrics
    data             rows from the user's PhysioNet copies to items; `questions` and `notes` read the two files, `categories` has
                     the rule for the ten question categories, `evidence` and `discq` read the paper's further sets
    twin             synthetic files of the official shape, any size; `twin_notes`, `twin_questions` and `twin_words` write them
    demo             the synthetic configuration, made of a twin
    prompts          how an item is asked; `shortening` leaves out what does not fit
    judge_prompts    how a judge is asked about an answer
    scoring          answers and verdicts to accuracy; `letters` reads a choice without a judge, `probability` its probability
    checking         a judge against clinicians' scores
    construction     making the same benchmark on one's own notes (docs/ehrnoteqa_construction.md)

    medical-tasks build ehrnoteqa --source FOLDER
    medical-tasks run --tasks ehrnoteqa_open_level1 --model MODEL --judge JUDGE
    medical-tasks run --tasks ehrnoteqa_mc_prob_index_level1 --model MODEL
    python -m medical_tasks.benchmarks.ehrnoteqa.twin --out FOLDER
"""
