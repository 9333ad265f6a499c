"""Sparse gradients: the rows of a table that a batch used.

``embedding(..., is_sparse=True)`` gives its table a gradient with a row for
each index, as Fluid's SelectedRows: :attr:`Variable.rows` says to which row of
the table each of them is added. ``SGD`` and ``Adagrad`` then change only these
rows, with the result of a dense gradient. So do other optimizers with
``lazy_mode=True``, whose states of the other rows then stay as they are;
without it the gradient is made dense. ``Lamb`` and ``LarsMomentum``, which need
norms of the whole table, weight decay and :class:`GradientMerge` always make it
dense.

A gradient stays sparse if everything that uses the table is a sparse embedding
outside of loops and branches; it is dense otherwise. Sparse updates run on the
CPU, in the scope's own memory. A run that fails takes them back. Rows that
belong together are found by sorting or, where a batch names as many rows as the
table has, or a quarter of them and they are short, added up in a dense table,
which is then faster and gives the same.
"""

from __future__ import annotations

from .program import Variable, require_variable

__all__ = ["merged", "to_dense"]


def merged(grad: Variable) -> Variable:
    """Add up rows of a sparse gradient that belong to the same row.

    Args:
        grad: a gradient; a dense one is returned as it is.

    Returns:
        A sparse gradient whose rows are ascending, followed by rows of 0 that
        belong to none (-1).
    """
    rows = require_variable("merged: grad", grad).rows
    if rows is None:
        return grad
    inputs = {"X": grad, "Rows": rows}
    return grad.program.append_op("merge_rows", inputs)["Out"]


def to_dense(grad: Variable, param: Variable) -> Variable:
    """Make a gradient dense.

    Args:
        grad: a gradient; a dense one is returned as it is.
        param: what it is the gradient of.

    Returns:
        A variable of the parameter's shape.
    """
    rows = require_variable("to_dense: grad", grad).rows
    if rows is None:
        return grad
    inputs = {"X": grad, "Rows": rows, "Like": param}
    return grad.program.append_op("rows_to_dense", inputs)["Out"]
