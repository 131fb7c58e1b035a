"""MedCalc-Bench: 55 medical calculators, asked about in patient notes.

Khandekar et al., "MedCalc-Bench: Evaluating Large Language Models for Medical Calculations", NeurIPS 2024 Datasets and
Benchmarks, https://arxiv.org/abs/2406.12036. Reference implementation: https://github.com/ncbi-nlp/MedCalc-Bench.

    spec             datasets, tasks and metrics
    data             rows of the official CSV files to items
    prompts          how an item is asked; `official_prompts` reads the authors' questions from a checkout
    protocol         what follows where the model writes code (docs/medcalc_code.md)
    scoring          replies to `accuracy` and `accuracy_official` (docs/medcalc_scoring.md)
      gold             the form and limits of a right answer, and what the published rule gives
      reading          where a reply states its answer; `statements` and `grammar` say what is stated there
      quantities       the numbers, dates and ages of a text; `expression` works out arithmetic
      official         the authors' decision, bug for bug
    errors           wrong answers by type, from `working`, `criteria` and `score_reading`; `errors_report` adds a judge's types
    audit            labels against the published rules, and why they differ (docs/medcalc_audit.md)
    fresh            new questions from a seed (docs/medcalc_fresh.md)

    medical-tasks run --tasks medcalc --model MODEL
    medical-tasks score medcalc --responses FILE.jsonl
    medical-tasks audit medcalc --source test_data.csv --out audit.csv
"""
