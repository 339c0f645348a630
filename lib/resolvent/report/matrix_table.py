"""`resolvent battery`: anybody's matrices in a file -> a table with a row a matrix."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolvent.errors import ResolventError
from resolvent.report.numbers import number
from resolvent.report.strict_json import strict_json

if TYPE_CHECKING:
    import numpy as np

FORMATS = (".parquet", ".csv", ".json")

Progress = Callable[[int, int], None]


class MatrixFileError(ResolventError):
    """A file of matrices that can't be read, or an output that can't be written."""


def matrix_table(path: Path, *, arrays: Sequence[str] = (), progress: Progress | None = None) -> dict[str, np.ndarray]:
    """The battery of every matrix in a .npy or .npz file: columns `name`, `n`, then QUANTITIES.

    Arrays have shape (n, n) or (..., n, n); a row's name is the array's, with the index for stacks: `name[i]`,
    `name[i,j]`. The array of a .npy file has the file's name. `arrays` names those of the file to measure, all if
    empty. `progress(done, total)` counts matrices of all arrays.

    Raises MatrixFileError for a file that can't be read, and CausalStochasticError that names file, array, index, row
    and column of the first offending entry: every array is checked before any is measured.
    """
    import numpy as np

    from resolvent.operators import QUANTITIES, battery, check_causal_stochastic

    stacks = {
        name: check_causal_stochastic(array, where=partial(_place, path, name))
        for name, array in _arrays(path, arrays).items()
    }
    total = sum(int(np.prod(stack.shape[:-2])) for stack in stacks.values())
    if progress is not None:
        progress(0, total)
    done = 0
    names: list[str] = []
    parts: list[Mapping[str, np.ndarray]] = []
    for name, stack in stacks.items():
        count = int(np.prod(stack.shape[:-2]))
        names += [_label(name, index) for index in np.ndindex(stack.shape[:-2])]

        def report(index: int, _of: int, before: int = done) -> None:
            if progress is not None:
                progress(before + index, total)

        measured = {key: values.reshape(-1) for key, values in battery(stack, progress=report).items()}
        parts.append({"n": np.full(count, stack.shape[-1], dtype=np.int64), **measured})
        done += count
    columns = {key: np.concatenate([part[key] for part in parts]) for key in ("n", *QUANTITIES)}
    return {"name": np.array(names, dtype=np.str_), **columns}


def check_output(path: Path) -> None:
    """Raises MatrixFileError for a table that could not be written: before hours of measuring, not after."""
    if path.suffix not in FORMATS:
        raise MatrixFileError(f"{path}: unknown format '{path.suffix}'; allowed: {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise MatrixFileError(f"{path}: its folder does not exist")
    if not os.access(path.parent, os.W_OK):
        raise MatrixFileError(f"{path}: its folder is not writable")


def write_table(path: Path, columns: Mapping[str, np.ndarray]) -> None:
    """Writes the table in the format of the suffix, whole or not at all. JSON is a list of records."""
    check_output(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if path.suffix == ".parquet":
            import pyarrow
            import pyarrow.parquet

            pyarrow.parquet.write_table(pyarrow.table(dict(columns)), temporary)
        elif path.suffix == ".csv":
            temporary.write_text(_csv(columns), encoding="utf-8")
        else:
            rows = ",\n ".join(strict_json(record) for record in _records(columns))
            temporary.write_text(f"[{rows}]\n", encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        raise MatrixFileError(f"{path}: can't be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def text_table(columns: Mapping[str, np.ndarray], *, width: int) -> str:
    """The table for a terminal: aligned columns, four digits; columns that don't fit come in further blocks, each
    beginning with the names again."""
    cells = {
        name: [name, *(v if isinstance(v, str) else number(v) for v in values.tolist())]
        for name, values in columns.items()
    }
    wide = {name: max(map(len, column)) for name, column in cells.items()}
    first, *rest = cells
    blocks: list[list[str]] = [[]]
    for name in rest:
        used = wide[first] + sum(2 + wide[other] for other in blocks[-1])
        if blocks[-1] and used + 2 + wide[name] > width:
            blocks.append([])
        blocks[-1].append(name)
    return "\n\n".join(
        "\n".join(
            "  ".join(
                [cells[first][row].ljust(wide[first]), *(cells[name][row].rjust(wide[name]) for name in block)]
            ).rstrip()
            for row in range(len(cells[first]))
        )
        for block in blocks
    )


def _arrays(path: Path, chosen: Sequence[str]) -> dict[str, np.ndarray]:
    import numpy as np

    if path.suffix not in (".npy", ".npz"):
        raise MatrixFileError(f"{path}: unknown format '{path.suffix}'; allowed: .npy, .npz")
    try:
        loaded = np.load(path, allow_pickle=False)
        held = {path.stem: loaded} if isinstance(loaded, np.ndarray) else loaded  # an archive, whatever its suffix
        missing = [name for name in chosen if name not in held]
        if missing:
            raise MatrixFileError(f"{path}: no array '{missing[0]}'; it holds {', '.join(held)}")
        arrays = {name: held[name] for name in chosen or held}
    except FileNotFoundError:
        raise MatrixFileError(f"{path}: no such file") from None
    except MatrixFileError:
        raise
    except Exception as error:  # numpy, zipfile and pickle raise their own for a file cut short
        raise MatrixFileError(f"{path}: not a readable array file: {error}") from None
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise MatrixFileError(f"{path}: '{name}' is not an array")
        others = "" if len(arrays) == 1 else "; --array NAME chooses arrays"
        if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] == 0:
            raise MatrixFileError(
                f"{path}: array '{name}' has shape {array.shape}; needed: (n, n) or (..., n, n) with n >= 1{others}"
            )
        if array.dtype.kind not in "fiub":
            raise MatrixFileError(f"{path}: array '{name}' has dtype {array.dtype}; needed: real numbers{others}")
    if not arrays:
        raise MatrixFileError(f"{path}: holds no array")
    return arrays


def _place(path: Path, name: str, index: tuple[int, ...]) -> str:
    return f"{path}: {_label(name, index)}"


def _label(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{','.join(map(str, index))}]" if index else name


def _records(columns: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    lists = {name: values.tolist() for name, values in columns.items()}
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _csv(columns: Mapping[str, np.ndarray]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(record.values() for record in _records(columns))
    return out.getvalue()
