"""Why were some samples slow? Joins samples with telemetry and holds every cause to its arithmetic.

`trace` is what is known, `baseline` what a fast sample looks like, `rules` the causes, `attribute` the verdict.
"""
