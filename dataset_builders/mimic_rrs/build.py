"""Radiology report summaries of MIMIC-III as a `datasets` builder class.

Most users want `medical-tasks build mimic_rrs`, which writes parquet files, card and
Croissant file for their owner alone, and compares the official file with its published
checksum. The class itself builds into the `datasets` cache, or streams; mind that the
cache then holds credentialed text:

    builder = MimicRRS(config_name="notes", data_dir="<folder with NOTEEVENTS.csv.gz>")
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")

    rows = MimicRRS(config_name="demo").as_streaming_dataset(split="test")

The file is called `build.py`, not `mimic_rrs.py`: `load_dataset` refuses a folder with
a script of its own name.
"""

from __future__ import annotations

from medical_tasks.benchmarks.doclens.mimic_data import MIMIC_SOURCE
from medical_tasks.data.building import builder_class

__all__ = ["MimicRRS"]

MimicRRS = builder_class(MIMIC_SOURCE)
