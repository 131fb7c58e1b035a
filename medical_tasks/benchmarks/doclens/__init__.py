"""DocLens: claims and citations of generated medical text: clinical notes, radiology impressions, summaries of questions.

Xie et al., "DocLens: Multi-aspect Fine-grained Evaluation for Medical Text Generation", ACL 2024,
https://arxiv.org/abs/2311.09581. Reference implementation: https://github.com/yiqingxyq/DocLens.

    spec             tasks and metrics; `datasets` are theirs
    data             how the datasets are built, and rows as items
      aci_data         ACI-BENCH: dialogues in numbered turns, notes in four sections
      meqsum_data      MeQSum and MEDIQA 2021: questions in numbered sentences
      mimic_data       radiology reports of MIMIC-III: findings in numbered sentences, impressions; `mimic_*` read, sort and
                       sample them, `mimic_demo` and `mimic_twin` are synthetic
      own_data         texts of one's own, from a JSON file, numbered
    turns, sections, sentences   the turns of a dialogue, the four sections of a note, numbered sentences
    prompts          how tasks are asked (`prompt_texts`), with worked `exemplars` that cite by `citing`; the authors' own in
                     `official_prompts`
    scoring          from outputs to scores: `scoring_arguments`, `claim_files`, `text_metrics` (`text_models`, `bertscore_layer`),
                     `official_scoring`; `metric` for `evaluate`, `given_verdicts`
    judging          what a judge says of outputs: units, claims, citations, in rounds (`judging_*`); `judge_prompts`,
                     `judge_texts`, `judge_questions`, `judge_reading`, and the authors' (`official_judge_reading`)
    decompose        texts taken apart into claims, as files
    citations        the sentences of a generated text with what they cite; `markers` finds the markers, `sentence_ends` the ends
    claims           claims of a text, from the released files or a judge's reply
    verdicts         what a judge said of claims and sentences; `nli_plan` asks a judge of entailment no more than it takes
    measures         claim recall and precision, citation recall and precision, of a section, an example and all together
    official_*       the authors' own splitting, reading of replies and aggregation (docs/doclens_scoring.md)

    medical-tasks build aci_bench --source FOLDER
    medical-tasks run --tasks aci_bench --model hf/PATH --judge openai-api/HOST/NAME
    medical-tasks score doclens_own --source notes.json --responses outputs.json --judge openai-api/HOST/NAME
"""
