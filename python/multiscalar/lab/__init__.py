"""The lab: measures MSM engines side by side, checks every timed result, keeps a record, explains unstable
timing.

Start at `runner` (how a case is measured), `record` (what is kept), `rows` and `formats` (what is shown).
"""
