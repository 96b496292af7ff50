"""How the programs that make a table of files end: the table on stdout, or one line on stderr and exit code 2."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable


class NoTableError(ValueError):
    """These files give no table; the text says which one and why."""


# What a file leads to that is of another kind than the one that a table is made of.
_OTHERS = (LookupError, TypeError, AttributeError, ArithmeticError, UnicodeError, RecursionError, csv.Error)


def show(doc: str, make: Callable[[list[str]], str], files: str | int = "+") -> None:
    """Print what `make` makes of the files that the command line names; `doc` is the program's, `files` how many."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs=files, metavar="FILE")
    asked = parser.parse_args().files
    try:
        table = make(asked)
    except OSError as error:
        parser.exit(2, f"{parser.prog}: {error.filename}: {error.strerror or error}\n")
    except _OTHERS as error:
        parser.exit(2, f"{parser.prog}: {', '.join(asked)}: not what this table is made of ({error!r})\n")
    except ValueError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    sys.stdout.write(f"{table}\n")
