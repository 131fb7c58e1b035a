"""DocLens: claims and citations of generated medical text: clinical notes, radiology impressions, summaries of questions.

Xie et al., "DocLens: Multi-aspect Fine-grained Evaluation for Medical Text Generation", ACL 2024,
https://arxiv.org/abs/2311.09581. Reference implementation: https://github.com/yiqingxyq/DocLens.

    spec             tasks and metrics; `datasets` are theirs
    data             ACI-BENCH and MeQSum, and the rows of all datasets as items
    mimic_data       radiology reports of MIMIC-III; `mimic_report` and `mimic_sample` sort and sample them, `mimic_demo` and
                     `mimic_twin` are synthetic
    own_data         texts of one's own, from a JSON file, numbered
    pieces           turns, sections and sentences, and what a sentence cites
    prompts          how tasks are asked; the authors' own prompts in `official_prompts`
    scoring          from outputs to scores, with `text_metrics` and `official_scoring`; `metric` for `evaluate`
    judging          what a judge says of outputs; `judging_claims`, `judge_prompts`, `judge_reading`
    measures         claims, verdicts, and the four metrics
    decompose        texts taken apart into claims, as files
    official_*       the authors' own splitting, reading of replies and aggregation (docs/doclens_scoring.md)

    medical-tasks build aci_bench --source FOLDER
    medical-tasks run --tasks aci_bench --model hf/PATH --judge openai-api/HOST/NAME
    medical-tasks score doclens_own --source notes.json --responses outputs.json --judge openai-api/HOST/NAME
"""
