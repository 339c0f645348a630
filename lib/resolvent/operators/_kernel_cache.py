"""numba's disk cache of the kernels, kept honest.

numba notices an edit of a kernel's own file only, not of those that its callees stand in, and would go on running what
they used to be. And a process that compiles a kernel may differ in the last bits from one that loads it, so that what
is to be equal to the bit needs all kernels compiled before it begins: `mark_warm` says that they are.
"""

import hashlib
import importlib.metadata
import sys
from pathlib import Path


def discard_stale(folder: Path) -> int:
    """Remove from `folder` and below every cache index older than the newest source; returns how many there were.

    A kernel without its index is compiled anew. Folders that can't be written to are left as they are.
    """
    newest = max((file.stat().st_mtime for file in folder.rglob("*.py")), default=0.0)
    removed = 0
    for index in folder.rglob("__pycache__/*.nbi"):
        try:
            if index.stat().st_mtime < newest:
                index.unlink()
                removed += 1
        except OSError:  # another process was faster, or the folder is read-only
            continue
    if removed:
        for marker in (folder / "__pycache__").glob("*.warm"):
            marker.unlink(missing_ok=True)
    return removed


def is_warm(folder: Path) -> bool:
    """Whether every kernel of these sources has been compiled for this Python and this numba."""
    return _marker(folder).exists()


def mark_warm(folder: Path) -> None:
    """To be called when they have. Where the folder can't be written to it stays cold."""
    try:
        _marker(folder).parent.mkdir(exist_ok=True)
        _marker(folder).touch()
    except OSError:
        return


def _marker(folder: Path) -> Path:
    sources = sorted(folder.rglob("*.py"))
    digest = hashlib.sha256("".join(file.read_text(encoding="utf-8") for file in sources).encode())
    digest.update(f"{sys.implementation.cache_tag} {importlib.metadata.version('numba')}".encode())
    return folder / "__pycache__" / f"{digest.hexdigest()[:16]}.warm"
