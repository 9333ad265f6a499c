"""Images of other sizes, and images read at other places."""

from __future__ import annotations

from typing import Any

from ...framework import Variable
from .layouts import is_last
from .numbers import first, integers
from .table import Many, Op, row

_INTERPOLATIONS = [
    f"{kind}_interp{version}"
    for kind in ("nearest", "bilinear", "bicubic", "trilinear", "linear")
    for version in ("", "_v2")
]


@row(*_INTERPOLATIONS)
def interpolate(
    op, X, OutSize=None, SizeTensor: Many = None, Scale=None, *, out_d=0,
    out_h=0, out_w=0, scale=0.0, interp_method="bilinear", align_corners=True,
    align_mode=1, data_layout="NCHW",
):  # fmt: skip
    """Images resized; an output of size 1 is the first pixel."""
    if X.dtype == "uint8" and not op.type.startswith("nearest"):
        out = interpolate(
            op, op.cast(X, "float32"), OutSize, SizeTensor, Scale,
            out_d=out_d, out_h=out_h, out_w=out_w, scale=scale,
            align_corners=align_corners, align_mode=align_mode,
            data_layout=data_layout,
        )  # fmt: skip
        return op.cast(out, "uint8")
    rank = op.rank(X)
    last = is_last(op, data_layout)
    axes = list(range(1, rank - 1) if last else range(2, rank))
    scales = list(scale) if isinstance(scale, (list, tuple)) else [scale]
    scales = [each for each in scales if each and each > 0]
    wanted = [out_d, out_h, out_w][-(rank - 2) :]
    if first(OutSize, SizeTensor) is not None:
        wanted = integers(op, "the size", first(OutSize, SizeTensor))
        scales = []
    elif Scale is not None:
        scales = [float(each) for each in integers(op, "scale", Scale)]
    scales = scales * len(axes) if len(scales) == 1 else scales
    attrs = _interpolation(op, op.type.split("_")[0], align_corners, align_mode)
    sizes = list(op.shape(X))
    full = [1.0] * rank
    for axis, by in zip(axes, scales or [1.0] * len(axes), strict=True):
        full[axis] = by
    if scales and None in [sizes[axis] for axis in axes]:
        if align_corners:
            op.refuse("scale with align_corners of images of unknown size")
        return op.resize(X, scales=full, **attrs)
    for k, axis in enumerate(axes):
        size = int(op.size(X, axis) * scales[k]) if scales else int(wanted[k])
        if size == 1 and sizes[axis] != 1:
            X = op.slice(X, axis, 0, 1)
        sizes[axis] = size
    # By v2's scales, and not by the sizes, pixels are found.
    if op.type.endswith("_v2") and scales and not align_corners:
        return op.resize(X, scales=full, **attrs)
    if sizes[0] is None:
        return _resized_batch(op, X, sizes, axes, attrs)
    return op.resize(X, sizes=sizes, **attrs)


def _resized_batch(
    op: Op, X: Variable, sizes: Any, axes: Any, attrs: Any
) -> Variable:
    """Known sizes of a batch of unknown size, by scales."""
    full = [1.0] * len(sizes)
    for axis in axes:
        full[axis] = sizes[axis] / op.size(X, axis)
    return op.resize(X, scales=full, **attrs)


def _interpolation(
    op: Op, kind: str, corners: bool, align_mode: int
) -> dict[str, Any]:
    mode = {"nearest": "nearest", "bicubic": "cubic"}.get(kind, "linear")
    half = mode == "cubic" or (mode == "linear" and align_mode == 0)
    how = "align_corners" if corners else "half_pixel" if half else "asymmetric"
    attrs = {"mode": mode, "coordinate_transformation_mode": how}
    if op.given.get("use_mkldnn"):  # oneDNN has no other
        attrs["coordinate_transformation_mode"] = "half_pixel"
        corners = True
    if mode == "nearest":
        attrs["nearest_mode"] = "round_prefer_ceil" if corners else "floor"
    return attrs
