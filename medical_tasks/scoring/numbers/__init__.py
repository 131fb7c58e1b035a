"""The number, date or age that a reply gives as its answer.

`subject` says what is looked for, `quantities` finds all there are, `statements` and
`rules` tell which of them is meant, `expression` works out arithmetic, and `reading`
puts them together: `read_answer`.
"""
