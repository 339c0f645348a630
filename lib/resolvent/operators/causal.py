"""The causal stochastic matrix: what is accepted as one, its packed triangle, and its deflation.

A causal stochastic matrix is post-softmax attention of one head on one text: lower triangular, non-negative, rows that
sum to 1; so row 0 is e0ᵀ. The mask forces the Perron projector P = 1 e0ᵀ, and A_dev = A − P.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from resolvent.errors import ResolventError

ROW_SUM_TOLERANCE = 1e-2  # bfloat16 rows sum to 0.998–1.002; anything further off is not a rounded softmax


class CausalStochasticError(ResolventError):
    """A matrix is not causal stochastic; the message names the first entry that is at fault."""


def check_causal_stochastic(
    matrices: Float[ndarray, "... n n"],
    *,
    where: Callable[[tuple[int, ...]], str] | None = None,
    tolerance: float = ROW_SUM_TOLERANCE,
) -> Float[ndarray, "... n n"]:
    """A float64 copy of a matrix or stack of causal stochastic matrices, each row divided by its sum.

    Any real dtype, any number of leading axes (also none, or of length 0); n ≥ 1. `where` turns a stack index into
    words for the error (layer, head, text); without it the index itself is named.

    Raises `CausalStochasticError` for the first matrix, in stack order, that has a NaN, a negative entry, mass above
    the diagonal or a row whose sum differs from 1 by more than `tolerance`; it names row, column and value.
    """
    from resolvent.operators._triangular import first_offence, renormalised

    try:
        given = np.asarray(matrices)
    except (TypeError, ValueError) as error:  # bfloat16 tensors, ragged lists
        raise CausalStochasticError(
            f"expected an array of real numbers, got {type(matrices).__name__} that numpy can't read ({error}); of a "
            "torch tensor give tensor.float().cpu().numpy()"
        ) from None
    if given.ndim < 2 or given.shape[-1] != given.shape[-2] or given.shape[-1] == 0:
        raise CausalStochasticError(
            f"expected square matrices of shape (..., n, n) with n >= 1, got an array of shape {given.shape}"
        )
    if given.dtype.kind not in "fiub":
        raise CausalStochasticError(f"expected real numbers, got an array of dtype {given.dtype}")
    checked = np.array(given, dtype=np.float64, order="C")
    for index in np.ndindex(checked.shape[:-2]):
        if not renormalised(checked[index], tolerance):
            original = np.array(given[index], dtype=np.float64, order="C")
            row, column, kind = first_offence(original, tolerance)
            raise CausalStochasticError(_offence(original, row, column, kind, tolerance, index, where))
    return checked


def check_one_matrix(A: Float[ndarray, "n n"]) -> Float[ndarray, "n n"]:
    """`check_causal_stochastic` for functions of a single matrix: a stack is refused too, with a word on `battery`."""
    checked = check_causal_stochastic(A)
    if checked.ndim != 2:
        raise CausalStochasticError(
            f"expected one matrix of shape (n, n), got a stack of shape {checked.shape}; `battery` measures stacks"
        )
    return checked


def _offence(
    matrix: Float[ndarray, "n n"],
    row: int,
    column: int,
    kind: int,
    tolerance: float,
    index: tuple[int, ...],
    where: Callable[[tuple[int, ...]], str] | None,
) -> str:
    if where is not None:
        place = f"{where(index)}: "
    elif index:
        place = f"matrix {index[0] if len(index) == 1 else index}: "
    else:
        place = ""
    if kind == 4:
        total = matrix[row, : row + 1].sum()
        hint = ""
        if row == 0 and total == 0.0:
            hint = "; give A itself, not A − 1e0ᵀ, and no padding before the first token"
        return f"{place}row {row} sums to {total:.17g}, further than {tolerance:g} from 1{hint}"
    value = matrix[row, column]
    fault = {
        1: "is not finite",
        2: "is negative",
        3: "lies above the diagonal, where a causal matrix is 0",
    }[kind]
    return f"{place}row {row}, column {column}: {value:.17g} {fault}"


def pack_lower(matrices: Float[ndarray, "... n n"]) -> Float[ndarray, "... packed"]:
    """The lower triangle with its diagonal, row by row: n(n+1)/2 numbers a matrix, in the dtype given."""
    n = matrices.shape[-1]
    rows, columns = np.tril_indices(n)
    return matrices[..., rows, columns]


def unpack_lower(
    packed: Float[ndarray, "... packed"], n: int, *, length: int | None = None
) -> Float[ndarray, "... n n"]:
    """The matrices of packed lower triangles, zeros above the diagonal.

    `n` is the size that was packed. With `length`, the leading length × length block: for causal attention exactly the
    attention of that prefix.

    Raises `CausalStochasticError` if the packed length is not n(n+1)/2 or `length` is not in 1..n.
    """
    size = n if length is None else length
    if packed.shape[-1] != n * (n + 1) // 2:
        raise CausalStochasticError(
            f"a packed triangle of n = {n} has {n * (n + 1) // 2} entries, this one has {packed.shape[-1]}"
        )
    if not 1 <= size <= n:
        raise CausalStochasticError(f"a prefix of n = {n} positions has 1 to {n} of them, not {size}")
    matrices = np.zeros((*packed.shape[:-1], size, size), dtype=packed.dtype)
    # Row-major packing: the triangle of a prefix is a prefix of the packed triangle.
    for row in range(size):
        start = row * (row + 1) // 2
        matrices[..., row, : row + 1] = packed[..., start : start + row + 1]
    return matrices


def perron_projector(n: int) -> Float[ndarray, "n n"]:
    """P = 1 e0ᵀ, n × n: what the causal mask forces; A P = P A = P² = P."""
    projector = np.zeros((n, n))
    projector[:, 0] = 1.0
    return projector


def deflate(matrices: Float[ndarray, "... n n"]) -> Float[ndarray, "... n n"]:
    """A_dev = A − P: lower triangular, entry (0, 0) is 0 and column 0 is a_i0 − 1."""
    deflated = np.array(matrices, dtype=np.float64)
    deflated[..., :, 0] -= 1.0
    return deflated


def leaks(matrices: Float[ndarray, "... n n"]) -> Float[ndarray, "... n"]:
    """c_i = Σ_{j<i} a_ij, the probability of leaving row i's own position; c_0 = 1.

    Stands wherever 1 − a_ii would: summed from the entries, it keeps leaks that the subtraction loses.
    """
    leak = np.tril(np.asarray(matrices, dtype=np.float64), -1).sum(axis=-1)
    leak[..., 0] = 1.0
    return leak


def absorbing_rows(matrices: Float[ndarray, "... n n"]) -> Int[ndarray, "..."]:
    """The number of rows i > 0 that never leave their own position (c_i = 0 exactly)."""
    return (leaks(matrices)[..., 1:] == 0.0).sum(axis=-1)
