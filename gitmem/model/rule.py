"""The number of the merge rule by which history is judged: a later rule gets the next one."""

RULE = 1
