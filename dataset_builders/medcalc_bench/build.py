"""MedCalc-Bench as a `datasets` builder class.

Most users want `medical-tasks build medcalc_bench`, which writes parquet files, card
and Croissant file. The class itself builds into the `datasets` cache, or streams from
the official file:

    builder = MedCalcBench(config_name="v1.0", data_dir="<folder with test_data.csv>")
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")

    rows = MedCalcBench(config_name="demo").as_streaming_dataset(split="test")
    rows = MedCalcBench(config_name="fresh", seed=7, n=1100).as_streaming_dataset(split="test")

The file is called `build.py`, not `medcalc_bench.py`: `load_dataset` refuses a folder
with a script of its own name.
"""

from __future__ import annotations

from medical_tasks.benchmarks.medcalc_bench.data import SOURCE
from medical_tasks.data.building import builder_class

__all__ = ["MedCalcBench"]

MedCalcBench = builder_class(SOURCE)
