"""The paper's way to such a benchmark, for a hospital's own notes (sections 3.1 to 3.3, appendices C and F.2).

sample           patients of each level and number of notes, drawn by a seed
protocol         a question with five choices for each of them, by a model
review           review sheets for clinicians, shared out, read back and merged
answers          models' answers, blinded, for clinicians to mark, and the marks
files            the files of a construction

medical-tasks construct ehrnoteqa sample --source discharge.csv.gz --folder FOLDER
medical-tasks construct ehrnoteqa generate --folder FOLDER --model MODEL
medical-tasks construct ehrnoteqa sheet --folder FOLDER --reviewers NAME,NAME,NAME
medical-tasks construct ehrnoteqa import --folder FOLDER SHEET...
"""
