"""MedCalc-Bench: 55 medical calculators, asked about in patient notes.

Khandekar et al., "MedCalc-Bench: Evaluating Large Language Models for Medical Calculations", NeurIPS 2024 Datasets and
Benchmarks, https://arxiv.org/abs/2406.12036. Reference implementation: https://github.com/ncbi-nlp/MedCalc-Bench.

    spec             datasets, tasks and metrics
    data             rows of the official CSV files to items
    prompts          how an item is asked; `official_prompts` reads the authors' questions from a checkout
    protocol         what follows where the model writes code (docs/medcalc_code.md)
    scoring          replies to `accuracy` and `accuracy_official` (docs/medcalc_scoring.md)
      kinds            which form the answer of each calculator has
      answers          where a reply states its final answer
      numbers, dates, gestational_age, formulas      what stands there
      official         the authors' decision, bug for bug, by way of `expression`, which interprets arithmetic
      recomputed       what the published rule gives for a row, for `accuracy_recomputed` and `accuracy_agreed`
    audit            labels against the published rules, and why they differ (docs/medcalc_audit.md)

    medical-tasks run --tasks medcalc --model MODEL
    medical-tasks score medcalc --responses FILE.jsonl
    medical-tasks audit medcalc --source test_data.csv --out audit.csv
"""
