"""Score answers you already have; no model is run.

    medical-tasks score medcalc --responses answers.csv
    medical-tasks score kqa --responses answers.xlsx --judge openai-api/my-host/judge-model
    medical-tasks score kqa --responses runs/my-run --judge nli/path/to/model
    medical-tasks score doclens_own --source notes.json --responses outputs.json --judge openai-api/my-host/judge-model
    medical-tasks score archehr_together --source RELEASE --split dev --responses submission.json
    medical-tasks score archehr_evidence --source RELEASE --split dev --responses submission.zip

The file is a table (CSV, XLSX, parquet) with the columns id and response, or JSON Lines with one line an item,
{"id": "17", "response": "the model's raw text"}. Ids are the dataset's own (for MedCalc-Bench the `Row Number`, which a table's
column may be called too); where each item has a question of its own, a column `question` names it as well. A JSON list of such
records may have the names example_id and output, or those of a submission to ArchEHR-QA's shared tasks: case_id and answer (2025),
or case_id and prediction (2026), zipped or not, which is scored only if it has no problems. Result files of the other benchmarks'
authors are taken as they are: K-QA's (Question, result), EHRNoteQA's (a column called as the model), MedCalc-Bench's (Row Number,
LLM Answer), DocLens's (also by section). Items without an answer are reported as unanswered, never counted as wrong. Instead of a
file, the folder of a run can be given: its answers are scored anew, by another judge for example.

Your own questions or notes (K-QA, MedCalc-Bench, DocLens) need no build: --source takes the file that configuration `own` is built
from. For ArchEHR-QA it takes the folder of the release.
"""

from __future__ import annotations

import argparse

from medical_tasks._api import rescored
from medical_tasks.cli.run import AGAIN, report_results

_FINISH = "Give that run's command again to answer the missing ones, then this one."


def run(arguments: argparse.Namespace) -> int:
    """Scores the answers; exit code 5 when items are unanswered or unscored."""
    done = rescored(arguments)
    if done is None:
        return 0
    results, unanswered = done
    mended = (
        _FINISH
        if arguments.responses.is_dir()
        else "Add the missing lines and give the same command again."
    )
    return report_results(results, next_step=mended if unanswered else AGAIN)
