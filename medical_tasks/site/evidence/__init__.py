"""`site evidence`: answers what frameworks ask of a hospital, line by line, from measurements.

- `lines` the table of questions, each with the function that finds its figures
- `finding` these functions: each takes `Facts` and returns figures, or none
- `facts` the content of the site's folder
- `writing` the step: HTML, JSON, CSV, and the exports for CHAI and TRIPOD-LLM

Nothing is claimed that was not measured: a line whose function finds nothing is "not
done", with the command that does it.
"""
