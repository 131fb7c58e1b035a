"""EHRNoteQA: clinicians' questions over the discharge summaries of a patient, open-ended and with five choices.

Kweon et al., "EHRNoteQA: An LLM Benchmark for Real-World Clinical Practice Using Discharge Summaries", NeurIPS 2024 Datasets
and Benchmarks, https://arxiv.org/abs/2402.16040. Reference implementation: https://github.com/ji-youn-kim/EHRNoteQA.

    spec             the dataset
    data             rows from the user's PhysioNet copies; `questions` and `notes` read the two files
    twin             synthetic files of the official shape, any size; `twin_notes` writes the notes, `twin_words` has the words
    demo             the synthetic configuration, made of a twin

    medical-tasks build ehrnoteqa --source FOLDER
    medical-tasks build ehrnoteqa --config demo
    python -m medical_tasks.ehrnoteqa.twin --out FOLDER
"""
