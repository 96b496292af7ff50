"""The command `msm`: one module a command, imported only when that command is called.

`COMMANDS` is the list of them. Data goes to stdout, everything else to stderr; `exits` has the exit codes.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import typer

from ..errors import MultiscalarError, MultiscalarWarning
from .exits import code_of

__all__ = ["COMMANDS", "main"]

# name -> (module that offers `command`, or `app` for a group; its line in the overview)
COMMANDS: dict[str, tuple[str, str]] = {
    "info": ("info", "This machine: CPU, instruction sets, threads, GPU, versions."),
    "bench": ("bench", "Time multi-scalar multiplications, every result checked."),
    "compare": ("compare", "Compare two records, or CPU with GPU here."),
    "check": ("check", "Judge a record by rules that anyone can run."),
    "report": ("report", "One self-contained HTML page from records."),
    "peers": ("peers", "Other people's libraries: status, build."),
    "doctor": ("doctor", "Why is the timing unstable? Measured, ranked, with cures."),
    "story": ("story", "The two stories, one command each: cutoff, stability."),
    "calibrate": ("calibrate", "Measure where CPU and GPU win on this machine."),
    "explain": ("explain", "Why `auto` would choose what it chooses."),
    "prove": ("prove", "Prove a circuit with Varuna, timed and verified."),
    "verify": ("verify", "Verify a proof."),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the command."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Multi-scalar multiplication on CPU and NVIDIA GPU: measured, explained, checked.",
    )
    app.callback(invoke_without_command=True)(_root)
    _open_streams()
    try:
        for name, (module, line) in COMMANDS.items():
            if name == wanted:
                _register(app, name, module)
            elif _exists(module):
                app.command(name, help=line)(_elsewhere)
        with _warnings_in_a_line():
            app(arguments, prog_name="msm")
    except MultiscalarError as error:  # what no command foresaw: a setting without meaning, a core of other sources
        typer.echo(f"msm: {error}", err=True)
        sys.exit(code_of(error))
    except OSError as error:  # nor this: our output goes to a disk that is full
        _drop_output()
        with suppress(OSError):
            typer.echo(f"msm: {error.filename or 'output'}: {error.strerror or error}", err=True)
        sys.exit(1)


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Warnings of ours as the errors are written: a user of the command has no use for the line of code."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **rest: Any) -> None:
            if issubclass(category, MultiscalarWarning):
                typer.echo(f"msm: warning: {message}", err=True)
            else:
                usual(message, category, *where, **rest)

        warnings.showwarning = show
        yield


def _open_streams() -> None:
    """Printing must not end a command: what the encoding of stdout lacks becomes "?", a closed stream goes nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 open as long as the program runs
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """What stdout could not take is forgotten, else the interpreter tries once more at its end and complains."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _root(version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    if version:
        from .. import __version__

        typer.echo(f"msm {__version__}")
        raise typer.Exit


def _elsewhere() -> None:
    """Stands in the overview for a command whose module is not imported in this call."""


def _exists(module: str) -> bool:
    return importlib.util.find_spec(f"{__name__}.{module}") is not None


def _register(app: typer.Typer, name: str, module: str) -> None:
    loaded: Any = importlib.import_module(f"{__name__}.{module}")
    if hasattr(loaded, "app"):
        app.add_typer(loaded.app, name=name)
    else:
        command: Callable[..., Any] = loaded.command
        app.command(name)(command)
