"""DocLens: claims and citations of generated medical text.

Clinical notes, radiology impressions, summaries of questions.

Xie et al., "DocLens: Multi-aspect Fine-grained Evaluation for Medical Text Generation",
ACL 2024, https://arxiv.org/abs/2311.09581. Reference implementation:
https://github.com/yiqingxyq/DocLens.

    medical-tasks build aci_bench --source FOLDER
    medical-tasks run --tasks aci_bench --model hf/PATH --judge openai-api/HOST/NAME
    medical-tasks score doclens_own --source notes.json --responses outputs.json --judge openai-api/HOST/NAME
"""
