"""ArchEHR-QA as a `datasets` builder class.

Most users want `medical-tasks build archehr_qa`, which writes parquet files, card and
Croissant file for their owner alone, and compares the official files with their
published checksums. The class itself builds into the `datasets` cache, or streams; mind
that the cache then holds credentialed text:

    builder = ArchEHRQA(config_name="official", data_dir="<folder with dev and test>")
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")

    rows = ArchEHRQA(config_name="demo").as_streaming_dataset(split="test")

The file is called `build.py`, not `archehr_qa.py`: `load_dataset` refuses a folder with
a script of its own name.
"""

from __future__ import annotations

from medical_tasks.benchmarks.archehr_qa.data import SOURCES
from medical_tasks.data.building import builder_class

__all__ = ["ArchEHRQA"]

ArchEHRQA = builder_class(SOURCES[0])
