"""EHRNoteQA as a `datasets` builder class.

Most users want `medical-tasks build ehrnoteqa`, which writes parquet files, card and
Croissant file for their owner alone, and compares the official files with their
published checksums. The class itself builds into the `datasets` cache, or streams; mind
that the cache then holds credentialed text:

    folder = "<folder with EHRNoteQA.jsonl and discharge.csv.gz>"
    builder = EHRNoteQA(config_name="all", data_dir=folder)
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")

    rows = EHRNoteQA(config_name="demo").as_streaming_dataset(split="test")

The file is called `build.py`, not `ehrnoteqa.py`: `load_dataset` refuses a folder with
a script of its own name.
"""

from __future__ import annotations

from medical_tasks.benchmarks.ehrnoteqa.data import SOURCES
from medical_tasks.data.building import builder_class

__all__ = ["EHRNoteQA"]

(_source,) = SOURCES

EHRNoteQA = builder_class(_source)
