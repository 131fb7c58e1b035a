"""AlignScore as an `evaluate` metric: a thin layer over `medical_tasks.models.alignscore`.

alignscore = evaluate.load("metrics/alignscore")    # or
evaluate.load(medical_tasks.metric_path("alignscore")) alignscore.compute(predictions=[claim],
references=[context], checkpoint="AlignScore-base.ckpt", backbone="roberta-base")
"""

from __future__ import annotations

from typing import Any

import datasets  # noqa: TID253  (a metric module is only ever loaded by evaluate)
import evaluate  # noqa: TID253

from medical_tasks.models.alignscore import Mode, open_alignscore
from medical_tasks.scoring.means import mean_interval

_DESCRIPTION = """\
How well a context supports a claim, by the AlignScore checkpoint you name: each sentence of the claim is held against every chunk
of the context, the best chunk counts, and the mean over sentences is the score. 0-1, mean over rows. Nothing is downloaded.
"""

_CITATION = """\
@inproceedings{zha2023alignscore,
  title     = {{AlignScore}: Evaluating Factual Consistency with A Unified Alignment Function},
  author    = {Yuheng Zha and Yichi Yang and Ruichen Li and Zhiting Hu},
  booktitle = {Proceedings of the 61st Annual Meeting of the Association for Computational Linguistics (Volume 1: Long Papers)},
  pages     = {11328--11348},
  year      = {2023},
  url       = {https://aclanthology.org/2023.acl-long.634}
}
"""

_INPUTS = """\
Args:
    predictions: list of str, the claims.
    references: list of str, the context of each.
    checkpoint: str, the authors' file, default models/AlignScore-base.ckpt.
    backbone: str, folder with config.json and tokenizer of the model it was trained on, default models/roberta-base.
    mode: "nli_sp" (default, the paper's), "nli", "bin_sp", "bin", "reg_sp", "reg"; without _sp the pair is scored as it is.
    sentences: "medical" (default), "punkt" (untrained), or a folder of NLTK's punkt_tab: how texts are split.
    confidence: float, of the interval. Default 0.95.
Returns:
    alignscore: float in 0-1 (of reg and reg_sp without bounds), nan without rows.
    alignscore_ci_low, alignscore_ci_high: 95 % interval over the rows.
    scores: list of float, one a row; 0 for a claim without words.
    truncated: int, pairs that were longer than the model takes and were cut.
    recipe: dict, what makes the numbers what they are: hashes of the files, mode, rules of splitting.
"""


class Alignscore(evaluate.Metric):
    """AlignScore by a local checkpoint, with an interval and its recipe."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": text, "references": text}),
            reference_urls=[
                "https://aclanthology.org/2023.acl-long.634",
                "https://github.com/yuh-zha/AlignScore",
            ],
        )

    def _compute(
        self,
        *,
        predictions: list[str],
        references: list[str],
        checkpoint: str = "models/AlignScore-base.ckpt",
        backbone: str = "models/roberta-base",
        mode: Mode = "nli_sp",
        sentences: str = "medical",
        confidence: float = 0.95,
    ) -> dict[str, Any]:
        scorer = open_alignscore(checkpoint, backbone=backbone, sentences=sentences)
        try:
            scores = scorer.score(references, predictions, mode=mode)
        finally:
            scorer.close()
        limits = None if mode.startswith("reg") else (0, 1)
        estimate = mean_interval(scores, confidence=confidence, limits=limits)
        return {
            "alignscore": estimate.value,
            "alignscore_ci_low": estimate.ci_low,
            "alignscore_ci_high": estimate.ci_high,
            "scores": scores,
            "truncated": scorer.truncated,
            "recipe": {**scorer.identity, "mode": mode},
        }
