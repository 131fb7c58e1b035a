"""EHRNoteQA: clinicians' questions over the discharge summaries of a patient.

Kweon et al., "EHRNoteQA: An LLM Benchmark for Real-World Clinical Practice Using
Discharge Summaries", NeurIPS 2024 Datasets and Benchmarks,
https://arxiv.org/abs/2402.16040. Open-ended and with five choices. Reference
implementation: https://github.com/ji-youn-kim/EHRNoteQA.

    medical-tasks build ehrnoteqa --source FOLDER
    medical-tasks run --tasks ehrnoteqa_open_level1 --model hf/MODEL --judge nli/MODEL
"""
