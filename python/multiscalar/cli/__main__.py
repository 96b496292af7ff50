"""`python -m multiscalar.cli`: the command without its script."""

from . import main

main()
