"""DocLens: claims and citations of generated medical text, on clinical notes and on summaries of patients' questions.

Xie et al., "DocLens: Multi-aspect Fine-grained Evaluation for Medical Text Generation", ACL 2024,
https://arxiv.org/abs/2311.09581. Reference implementation: https://github.com/yiqingxyq/DocLens.

    spec             tasks and metrics; `datasets` are theirs
    data             how they are built
      aci_data         ACI-BENCH: dialogues in numbered turns, notes in four sections; `aci_demo` is its synthetic configuration
      meqsum_data      MeQSum and MEDIQA 2021: questions in numbered sentences; `meqsum_demo` likewise
    turns            the turns of a dialogue, and how they are numbered
    sections         the four sections of a note
    sentences        the sentences of a question, and how they are numbered
    citations        the sentences of a generated text with what they cite; `markers` finds the markers, `sentence_ends` the ends
    claims           claims of a text, from the released files or a judge's reply
    verdicts         what a judge said of claims and sentences; `nli_plan` asks a judge of entailment no more than it takes
    measures         claim recall and precision, citation recall and precision, of a section, an example and all together
    official_*       the authors' own splitting, reading of replies and aggregation (docs/doclens_scoring.md)

    medical-tasks build aci_bench --source FOLDER
    medical-tasks build meqsum --source FOLDER
"""
