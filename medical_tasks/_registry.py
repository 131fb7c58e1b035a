"""inspect's entry point: importing this registers every task as `medical_tasks/<name>`."""

from __future__ import annotations

from medical_tasks.doclens.inspect_task import (
    aci_bench,
    aci_bench_one_shot,
    aci_bench_section,
    aci_bench_section_one_shot,
    aci_bench_section_two_shot,
    aci_bench_two_shot,
    doclens_own,
    meqsum,
    meqsum_one_shot,
    meqsum_two_shot,
    mimic_rrs,
    mimic_rrs_six_shot,
    mimic_rrs_twelve_shot,
)
from medical_tasks.ehrnoteqa.inspect_task import (
    ehrnoteqa_mc_level1,
    ehrnoteqa_mc_level2,
    ehrnoteqa_mc_prob_index_level1,
    ehrnoteqa_mc_prob_index_level2,
    ehrnoteqa_mc_prob_value_level1,
    ehrnoteqa_mc_prob_value_level2,
    ehrnoteqa_open_level1,
    ehrnoteqa_open_level2,
)
from medical_tasks.kqa.inspect_task import kqa, kqa_icl, kqa_icl_rag, kqa_rag
from medical_tasks.medcalc_bench.inspect_task import (
    medcalc,
    medcalc_code,
    medcalc_direct,
    medcalc_one_shot,
    medcalc_open_book,
)

__all__ = [
    "aci_bench",
    "aci_bench_one_shot",
    "aci_bench_section",
    "aci_bench_section_one_shot",
    "aci_bench_section_two_shot",
    "aci_bench_two_shot",
    "doclens_own",
    "ehrnoteqa_mc_level1",
    "ehrnoteqa_mc_level2",
    "ehrnoteqa_mc_prob_index_level1",
    "ehrnoteqa_mc_prob_index_level2",
    "ehrnoteqa_mc_prob_value_level1",
    "ehrnoteqa_mc_prob_value_level2",
    "ehrnoteqa_open_level1",
    "ehrnoteqa_open_level2",
    "kqa",
    "kqa_icl",
    "kqa_icl_rag",
    "kqa_rag",
    "medcalc",
    "medcalc_code",
    "medcalc_direct",
    "medcalc_one_shot",
    "medcalc_open_book",
    "meqsum",
    "meqsum_one_shot",
    "meqsum_two_shot",
    "mimic_rrs",
    "mimic_rrs_six_shot",
    "mimic_rrs_twelve_shot",
]
