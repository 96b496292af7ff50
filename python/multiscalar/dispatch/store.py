"""Where profiles live: found in order, written whole, merged under a lock, never clobbered.

A file is named by what must match (its machine's identity), so two machines that share a home do not overwrite each
other. A new profile is merged with the file under an exclusive lock: its series replace the old ones, others stay.
Writes go to a temporary file in the same folder, are flushed to disk and renamed into place. A folder that cannot be
written costs the calibration, not the calls: the error says where to point MULTISCALAR_STATE_DIR.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Final

from platformdirs import user_state_path

from .. import boundedfile
from ..errors import OptionError, ProfileWarning
from ..settings import setting
from .profile import MAX_BYTES, Machine, Profile, ProfileError, from_json, to_json

SITE: Final = Path("/etc/multiscalar/profiles")
_warned: set[str] = set()


def folder() -> Path:
    """The user's folder of profiles."""
    chosen = setting("state_dir")
    return (Path(chosen) if chosen else user_state_path("multiscalar")) / "profiles" / "v1"


def path_for(machine: Machine) -> Path:
    """The file of a machine in the user's folder."""
    text = json.dumps(machine.identity(), sort_keys=True)
    return folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def load(path: Path, origin: str) -> Profile:
    """The profile at `path`. Errors: `ProfileError` with the reason, whatever is there, or nothing."""
    try:
        return from_json(boundedfile.read(path, MAX_BYTES).decode(), origin)
    except UnicodeDecodeError:
        raise ProfileError("not UTF-8 text") from None
    except OSError as error:
        raise ProfileError(error.strerror or str(error)) from error
    except ValueError as error:
        raise error if isinstance(error, ProfileError) else ProfileError(str(error)) from error


def read(path: Path, origin: str) -> Profile | None:
    """The profile at `path`; None, with one warning a file, if there is something there that is none."""
    try:
        return load(path, origin)
    except ProfileError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        if str(path) not in _warned:
            _warned.add(str(path))
            warnings.warn(
                f"the profile {path} cannot be used ({error}) and is ignored; `msm calibrate` writes a new one",
                ProfileWarning,
                stacklevel=2,
            )
        return None


def named() -> Profile | None:
    """The profile whose file the setting names, if it names one. Errors: `OptionError` if that is no profile."""
    chosen = setting("profile")
    if not chosen or chosen == "off":
        return None
    try:
        return load(Path(chosen), "named by MULTISCALAR_PROFILE")
    except ProfileError as error:
        raise OptionError(
            f"profile = {chosen!r} cannot be read ({error})",
            accepted="the path of a profile, or off",
            hint="Run `msm calibrate`.",
        ) from error


def find(machine: Machine) -> Profile | None:
    """The profile for `machine`: named by the setting, else the user's, the site's, or a shipped one of its GPU.

    Errors: `OptionError` if the setting names a file that is no profile.
    """
    if setting("profile") == "off":
        return None
    chosen = named()
    if chosen is not None:
        return chosen
    mine = read(path_for(machine), "measured on this machine")
    if mine is not None and not mine.machine.mismatch(machine):
        return mine
    for path in _site_files():
        site = read(path, f"site profile {path}")
        if site is not None and not site.machine.mismatch(machine):
            return site
    return shipped(machine)


def _site_files() -> list[Path]:
    """Profiles of the site; none where there is no folder, or one that this user may not look into."""
    try:
        return sorted(SITE.glob("*.json")) if SITE.is_dir() else []
    except OSError:
        return []


def shipped(machine: Machine) -> Profile | None:
    """A profile that came with the package for the same GPU: measured elsewhere, on another CPU perhaps."""
    if machine.gpu is None:
        return None
    home = files(__package__) / "profiles"
    for entry in sorted(home.iterdir(), key=lambda item: item.name) if home.is_dir() else []:
        if not entry.name.endswith(".json"):
            continue
        found = from_json(entry.read_text(encoding="utf-8"), "shipped, not measured here")
        if found.machine.gpu == machine.gpu:
            return found
    return None


def save(profile: Profile) -> Path:
    """Merge `profile` into its machine's file. Errors: `OptionError` when the folder cannot be written."""
    path = path_for(profile.machine)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.with_suffix(".lock")):
            before = read(path, "")
            if before is not None and not before.machine.mismatch(profile.machine):
                profile = replace(
                    profile,
                    curves={**before.curves, **profile.curves},
                    first_call_us={**before.first_call_us, **profile.first_call_us},
                    hold_out={**before.hold_out, **profile.hold_out},
                    wobble={**before.wobble, **profile.wobble},
                )
            _write(path, to_json(profile))
    except OSError as error:
        raise OptionError(
            f"the profile cannot be written to {path.parent} ({error.strerror})",
            accepted="a folder that can be written",
            hint="Set MULTISCALAR_STATE_DIR to one, or save with `msm calibrate --output FILE`.",
        ) from error
    return path


def _write(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two calibrations at once: the second waits here while the first reads, merges and renames."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: the rename alone keeps files whole
        yield
        return
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
