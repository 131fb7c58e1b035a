"""EHRNoteQA: clinicians' questions over the discharge summaries of a patient, open-ended and with five choices.

Kweon et al., "EHRNoteQA: An LLM Benchmark for Real-World Clinical Practice Using Discharge Summaries", NeurIPS 2024 Datasets and
Benchmarks, https://arxiv.org/abs/2402.16040. Reference implementation: https://github.com/ji-youn-kim/EHRNoteQA.

    medical-tasks build ehrnoteqa --source FOLDER
    medical-tasks run --tasks ehrnoteqa_open_level1 --model MODEL --judge JUDGE
    medical-tasks run --tasks ehrnoteqa_mc_prob_index_level1 --model MODEL
"""
