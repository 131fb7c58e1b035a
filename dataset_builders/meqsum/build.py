"""MeQSum, with the validation and test sets of MEDIQA 2021, as a `datasets` builder class.

Most users want `medical-tasks build meqsum`, which writes parquet files, card and
Croissant file. The class itself builds into the `datasets` cache, or streams from the
official files:

    builder = MeQSum(config_name="full", data_dir="<folder with the three XLSX files>")
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")

    rows = MeQSum(config_name="demo").as_streaming_dataset(split="test")

The file is called `build.py`, not `meqsum.py`: `load_dataset` refuses a folder with a
script of its own name.
"""

from __future__ import annotations

from medical_tasks.benchmarks.doclens.data import MEQSUM_SOURCE
from medical_tasks.data.building import builder_class

__all__ = ["MeQSum"]

MeQSum = builder_class(MEQSUM_SOURCE)
