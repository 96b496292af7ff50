"""The lab: MSM engines side by side, every timed result checked, a record kept, unstable timing explained.

Start at `runner` (how a case is measured), `record` (what is kept), `rows` and `formats` (what is shown).
"""
