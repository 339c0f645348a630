"""Whether files can be made in a folder, found by trying."""

from __future__ import annotations

import tempfile
from pathlib import Path


def why_not_writable(folder: Path) -> str | None:
    """None where a file can be made in the folder, which is made itself where it is missing; else the reason in words.

    Permissions alone don't tell: root may write anywhere but on a read-only mount.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except FileExistsError:
        return f"{folder} is a file, not a folder"
    except OSError as error:
        return f"{folder}: nothing can be written there ({error.strerror or error})"
