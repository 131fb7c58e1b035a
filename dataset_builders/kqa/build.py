"""K-QA as a `datasets` builder class.

Most users want `medical-tasks build kqa`, which writes parquet files, card and
Croissant file. The class itself builds into the `datasets` cache, or streams from the
official file:

    builder = KQA(config_name="answered", data_dir="<folder with questions_w_answers.jsonl>")
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")

    rows = KQA(config_name="demo").as_streaming_dataset(split="test")

The file is called `build.py`, not `kqa.py`: `load_dataset` refuses a folder with a
script of its own name.
"""

from __future__ import annotations

from medical_tasks.benchmarks.kqa.data import SOURCE
from medical_tasks.data.building import builder_class

__all__ = ["KQA"]


KQA = builder_class(SOURCE)
