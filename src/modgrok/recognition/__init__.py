"""Which function a table of answers is, errors or not: closed forms, groups, and the chance of a mistake."""
