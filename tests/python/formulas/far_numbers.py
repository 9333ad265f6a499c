"""Numbers far from 1, and the comparison of all kernels with a reference.

References compute in longdouble, with other formulas than the kernels. No
float32 or float64 overflows there.
"""

from __future__ import annotations

import itertools

import numpy as np

import sluice as sl

LONG = np.longdouble
# Relative tolerances; a formula that cancels loses far more.
TOLERANCE = {"float32": 3e-5, "float64": 1e-11}
DTYPES = sorted(TOLERANCE)

_MAGNITUDES = (
    1e-45, 1e-40, 1.2e-38, 3e-30, 1e-20, 1.7e-10, 1e-5, 1e-3, 0.1, 0.5,
    1 - 2896 * 2**-24, 1 - 2**-24, 1, 1 + 2**-23, 1 + 2**-12, 1.5, 2, 3, 5, 7, 10, 20, 50, 80, 100,
    1e3, 1e5, 2**24, 3e7, 1e10, 1e13, 1e16, 1.9e19, 1e20, 1e25, 1e30, 1e38, 3e38,
)  # fmt: skip
_OF_DOUBLES = (1e-300, 1e-160, 1e-100, 1 - 2**-53, 1e100, 1e160, 1e300)


def numbers(dtype, signs=(1, -1)):
    """0 and the magnitudes with each sign."""
    every = _MAGNITUDES + (_OF_DOUBLES if dtype == "float64" else ())
    values = [0.0, *(sign * value for sign in signs for value in every)]
    return np.unique(np.array(values, dtype))


def few_numbers(dtype):
    """Some of them, for pairs."""
    some = (
        1e-42, 3e-30, 1e-10, 0.1, 0.5, 1, 1 + 2**-23, 1.5, 2, 3, 7, 10, 41,
        1e3, 2**24, 2**24 + 2, 1e10, 1e15, 1.9e19, 1e25, 3e38,
    )  # fmt: skip
    return np.unique(np.array([0.0, *some, *(-x for x in some)], dtype))


def long(array):
    return np.asarray(array).astype(LONG)


def results(op, inputs, attrs=None, outputs=(), places=("cpu", "cuda")):
    """(kernel, its outputs) for every kernel that supports the op."""
    dtype = str(next(iter(inputs.values())).dtype)
    found = 0
    for kernel in sl.kernels(op):
        if kernel.dtype != dtype or not kernel.place.startswith(places):
            continue
        hint = (
            f"require place={kernel.place}, library={kernel.library}, "
            f"variant={kernel.variant}"
        )
        place = sl.CUDAPlace(0) if "cuda" in kernel.place else sl.CPUPlace()
        try:
            got = sl.run_op(op, inputs, attrs, place, hint, outputs)
        except sl.NotFoundError:  # it refuses these sizes
            continue
        found += 1
        yield f"{op} {dtype} {kernel.place} {kernel.variant}", got
    assert found, f"{op} has no kernel for {dtype}"


def check(
    what, got, want, dtype, inputs=(), slack=1.0, where=True, scale=0.0
):
    """Fails if a result differs from the reference by more than the rounding
    error, or that of `scale`. Beyond the range of dtype an infinity is also
    right; NaN equals NaN."""
    info = np.finfo(dtype)
    tolerance = TOLERANCE[dtype] * slack
    got, want = long(got), long(want)
    largest, tiny = LONG(info.max), LONG(info.tiny)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(want), scale)
        close = np.abs(got - want) <= tolerance * size + tiny
        past = np.abs(want) >= largest * (1 - tolerance)
        ends = past & (got * np.sign(want) >= largest * (1 - 2 * tolerance))
    right = close | ends | (got == want) | (np.isnan(got) & np.isnan(want))
    wrong = np.argwhere(np.broadcast_to(where, right.shape) & ~right)
    if not len(wrong):
        return
    got, want = (np.broadcast_to(array, right.shape) for array in (got, want))
    arrays = [np.broadcast_to(array, right.shape) for array in inputs]
    lines = [
        f"  of {[float(a[tuple(at)]) for a in arrays]}: {got[tuple(at)]:.9g}, "
        f"expected {want[tuple(at)]:.9g}"
        for at in wrong[:: max(1, len(wrong) // 8)]
    ]
    raise AssertionError(
        "\n".join([f"{what}: {len(wrong)} of {right.size} are wrong", *lines])
    )


def is_normal(array, dtype):
    """Whether no digit is lost to the end of the range."""
    info = np.finfo(dtype)
    size = np.abs(long(array))
    return (size >= LONG(info.tiny)) & (size <= LONG(info.max))


def grid(*axes):
    """All combinations, each as a vector."""
    return [np.array(c, axes[0].dtype) for c in zip(*itertools.product(*axes))]
