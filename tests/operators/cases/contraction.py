"""Products of matrices, and determinants."""

import numpy as np

from .case import case, summed_like, with_grads


def matrices(dims, tx, ty):
    """The dims of X and Y, with the last two swapped if they are transposed."""
    for one, transposed in zip(dims, (tx, ty)):
        yield [*one[:-2], one[-1], one[-2]] if transposed else one


def matmuls(make):
    for form in range(4):
        flags = form % 2 == 1, form // 2 == 1
        for dims in [
            ([3, 5], [5, 7]),
            ([1, 1], [1, 1]),
            ([4, 0], [0, 3]),
            ([0, 2], [2, 3]),
            ([5, 2, 3], [3, 4]),
            ([2, 3], [3, 3, 4]),
            ([2, 1, 3, 2], [1, 3, 2, 2]),
            ([2, 3, 3, 2], [2, 3, 2, 3]),
            ([0, 2, 3], [1, 3, 2]),
            ([67, 129], [129, 83]),
            ([3, 33, 31], [3, 31, 37]),
        ]:
            yield matmul_of(make, *matrices(dims, *flags), *flags, form)
    yield matmul_of(make, [5], [5])
    yield matmul_of(make, [5], [3], True, True)
    yield matmul_of(make, [5], [2, 5, 3])
    yield matmul_of(make, [2, 3, 5], [5])
    yield matmul_of(make, [5], [2, 1, 3], True)


def matmul_of(make, x, y, transpose_x=False, transpose_y=False, form=0):
    return {
        "X": make.values(*x),
        "Y": make.values(*y),
        "transpose_X": transpose_x,
        "transpose_Y": transpose_y,
        "alpha": 0.5 if form else 1.0,
    }


def swapped(x, transposed=True):
    return np.swapaxes(x, -1, -2) if transposed else x


def as_matrices(x, y, transpose_x=False, transpose_y=False):
    """Vectors are a row and a column."""
    x = x if x.ndim > 1 else x[None, :]
    y = y if y.ndim > 1 else y[:, None]
    return swapped(x, transpose_x), swapped(y, transpose_y)


def gradients(x, y, out_grad, transpose_x=False, transpose_y=False):
    a, b = as_matrices(x, y, transpose_x, transpose_y)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out_grad = out_grad.reshape(*batch, a.shape[-2], b.shape[-1])
    x_grad = summed_like(out_grad @ swapped(b), a)
    y_grad = summed_like(swapped(a) @ out_grad, b)
    return {
        "X@GRAD": swapped(x_grad, transpose_x).reshape(x.shape),
        "Y@GRAD": swapped(y_grad, transpose_y).reshape(y.shape),
    }


def flags_of(attributes):
    return attributes["transpose_X"], attributes["transpose_Y"]


@case("matmul", matmuls, slack=16)  # up to 258 terms
def matmul(x, y, alpha, attributes):
    flags = flags_of(attributes)
    rows, columns = as_matrices(x, y, *flags)
    out = alpha * (rows @ columns)
    # A vector that is not transposed has no dim in Out.
    if x.ndim == 1 and not flags[0]:
        out = out[..., 0, :]
    return out[..., 0] if y.ndim == 1 and not flags[1] else out


def matmul_grad(x, y, out_grad, alpha, attributes):
    return gradients(x, y, alpha * out_grad, *flags_of(attributes))


def muls(make):
    for x, y, x_rows, y_rows in [
        ([3, 5], [5, 7], 1, 1),
        ([1, 1], [1, 1], 1, 1),
        ([4, 0], [0, 3], 1, 1),
        ([0, 2], [2, 3], 1, 1),
        ([4, 2, 3], [6, 5], 1, 1),
        ([2, 3, 5], [5, 1, 3], 2, 1),
        ([3, 2, 3], [3, 2, 1, 4], 1, 2),
        ([77, 131], [131, 93], 1, 1),
    ]:
        yield {
            "X": make.values(*x),
            "Y": make.values(*y),
            "x_num_col_dims": x_rows,
            "y_num_col_dims": y_rows,
        }


def flat(x, rows):
    return x.reshape(int(np.prod(x.shape[:rows])), int(np.prod(x.shape[rows:])))


@case("mul", muls, slack=16)  # up to 131 terms
def mul(x, y, x_num_col_dims, y_num_col_dims):
    dims = x.shape[:x_num_col_dims] + y.shape[y_num_col_dims:]
    return (flat(x, x_num_col_dims) @ flat(y, y_num_col_dims)).reshape(dims)


def mul_grad(x, y, out_grad, x_num_col_dims, y_num_col_dims):
    matrices = flat(x, x_num_col_dims), flat(y, y_num_col_dims)
    grads = gradients(*matrices, out_grad)
    return {
        "X@GRAD": grads["X@GRAD"].reshape(x.shape),
        "Y@GRAD": grads["Y@GRAD"].reshape(y.shape),
    }


for one in "x", "y":
    case(f"matmul_grad_{one}", with_grads(matmuls, matmul), 16)(matmul_grad)
    case(f"mul_grad_{one}", with_grads(muls, mul), 16)(mul_grad)


def squares(make):
    for dims in [
        [3, 3],
        [2, 1, 4, 4],
        [1, 1],
        [5, 2, 2],
        [0, 3, 3],
        [2, 0, 0],
        [301, 6, 6],
    ]:
        yield {"X": make.values(*dims)}


def minor(x, row, column):
    return laplace(np.delete(np.delete(x, row, -2), column, -1))


def laplace(x):
    """The expansion along the first row."""
    total = np.full(x.shape[:-2], 0.0 if x.shape[-1] else 1.0)
    for j in range(x.shape[-1]):
        total += (-1) ** j * x[..., 0, j] * minor(x, 0, j)
    return total


# Sums cancel, so the tolerance is larger.
@case("determinant", squares, slack=100)
def determinant(x):
    return laplace(x)


@case("determinant_grad", with_grads(squares, determinant), slack=100)
def determinant_grad(x, out_grad):
    grad = np.zeros(x.shape)
    for i, j in np.ndindex(x.shape[-2:]):
        grad[..., i, j] = (-1) ** (i + j) * minor(x, i, j) * out_grad
    return {"X@GRAD": grad}
