"""Rows in MedCalc-Bench's form about credentialed notes, as a `datasets` builder class.

Most users want `medical-tasks build medcalc_own`, which writes parquet files, card and
Croissant file, or `medical-tasks score medcalc_own --source FILE`, which needs no
build. The class itself builds into the `datasets` cache, or streams:

    builder = MedCalcOwn(config_name="own", data_dir="<folder with rows.csv, or the file>")
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")

    rows = MedCalcOwn(config_name="demo").as_streaming_dataset(split="test")

The file is called `build.py`, not `medcalc_own.py`: `load_dataset` refuses a folder
with a script of its own name.
"""

from __future__ import annotations

from medical_tasks.benchmarks.medcalc_bench.data import OWN_SOURCE
from medical_tasks.data.building import builder_class

__all__ = ["MedCalcOwn"]

MedCalcOwn = builder_class(OWN_SOURCE)
