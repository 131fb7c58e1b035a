"""Questions in K-QA's form that are credentialed, as a `datasets` builder class.

Most users want `medical-tasks build kqa_own`, which writes parquet files, card and
Croissant file, or `medical-tasks score kqa_own --source FILE`, which needs no
build. The class itself builds into the `datasets` cache, or streams:

    builder = KqaOwn(config_name="own", data_dir="<folder with gold.jsonl, or the file>")
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")

    rows = KqaOwn(config_name="demo").as_streaming_dataset(split="test")

The file is called `build.py`, not `kqa_own.py`: `load_dataset` refuses a folder
with a script of its own name.
"""

from __future__ import annotations

from medical_tasks.benchmarks.kqa.data import OWN_SOURCE
from medical_tasks.data.building import builder_class

__all__ = ["KqaOwn"]

KqaOwn = builder_class(OWN_SOURCE)
