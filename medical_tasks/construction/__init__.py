"""What ways to a benchmark of one's own share; the ways themselves are `<benchmark>/construction`.

files     the files of a construction: for their owner alone, whole or not there
cells     sheets for spreadsheet programs; `shares` says who gets which rows
asking    a model is asked about everything there is, under the data guard, and goes on where it was stopped
"""
