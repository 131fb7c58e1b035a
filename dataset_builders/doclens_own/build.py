"""Texts of one's own for DocLens, as a `datasets` builder class.

Most users want `medical-tasks build doclens_own`, which writes parquet files, card and
Croissant file, or `medical-tasks score doclens_own --source FILE.json`, which needs no
build. The class itself builds into the `datasets` cache, or streams:

    builder = DocLensOwn(config_name="own", data_dir="<folder with notes.json, or the file>")
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")

    rows = DocLensOwn(config_name="demo").as_streaming_dataset(split="test")

The file is called `build.py`, not `doclens_own.py`: `load_dataset` refuses a folder
with a script of its own name.
"""

from __future__ import annotations

from medical_tasks.benchmarks.doclens.data import OWN_SOURCE
from medical_tasks.data.building import builder_class

__all__ = ["DocLensOwn"]

DocLensOwn = builder_class(OWN_SOURCE)
