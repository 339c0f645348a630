"""numba's disk cache of the kernels, kept honest: numba notices an edit of a kernel's own file only, not of those that
its callees stand in, and would go on running what they used to be."""

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
    return removed
