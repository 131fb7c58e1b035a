"""The review desk: clinicians label in a page on this machine, one item at a time.

    sheets      what is labelled, by whom, with which choices
    labels      an append-only store; a label is on the disk before the page says so
    work        a sheet with its labels: who has what to do, what is decided
    agreement   how far raters agree
    serving     the page, on loopback, with an address of its own a rater
    forms       files of other commands that become sheets, and are written back
    command     `medical-tasks site review`

Text stays in the private folder with the sheet; what may leave are ids and labels.
"""
