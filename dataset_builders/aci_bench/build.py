"""ACI-BENCH as a `datasets` builder class.

Most users want `medical-tasks build aci_bench`, which writes parquet files, card and
Croissant file. The class itself builds into the `datasets` cache, or streams from the
official files:

    folder = "<folder with train.csv, valid.csv and clinicalnlp_taskB_test1.csv>"
    builder = ACIBench(config_name="doclens", data_dir=folder)
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test1")

    rows = ACIBench(config_name="demo").as_streaming_dataset(split="test1")

The file is called `build.py`, not `aci_bench.py`: `load_dataset` refuses a folder with
a script of its own name.
"""

from __future__ import annotations

from medical_tasks.benchmarks.doclens.data import ACI_SOURCE
from medical_tasks.data.building import builder_class

__all__ = ["ACIBench"]

ACIBench = builder_class(ACI_SOURCE)
