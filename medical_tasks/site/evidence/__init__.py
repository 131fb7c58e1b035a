"""`site evidence`: what frameworks ask of a hospital, answered line by line from what was measured.

- `lines` the table of questions, each with the function that finds its figures
- `finding` the functions: each takes `Facts` and gives figures, or none
- `facts` what the site's folder holds
- `writing` the step: HTML, JSON, CSV, and the exports for CHAI and TRIPOD-LLM

Nothing is claimed that was not measured: a line whose function finds nothing says "not
done", with the command that does it.
"""
