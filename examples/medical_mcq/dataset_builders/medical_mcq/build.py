"""Medical MCQ as a `datasets` builder class."""

from __future__ import annotations

from medical_tasks.benchmarks.medical_mcq.data import SOURCES
from medical_tasks.data.building import builder_class

MedicalMCQ = builder_class(*SOURCES)
