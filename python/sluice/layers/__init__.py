"""Layers with parameters, and a function for every op.

Hand-written layers (``fc``, ``conv2d``, ...) use :class:`sluice.LayerHelper`.
All others come from the schemas of the registered ops, see
:mod:`sluice.layers.ops`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..elsewhere import checked
from ..program import require_variable
from . import (
    conv,
    dynamic,
    host,
    learning_rate_scheduler,
    loss,
    metric,
    normalization,
    ops,
    rows,
    sequence,
    structured,
    tensor,
    tensor_array,
    vectors,
)
from .control_flow import cond, scan, while_loop
from .conv import *  # noqa: F403
from .dynamic import *  # noqa: F403
from .host import *  # noqa: F403
from .learning_rate_scheduler import *  # noqa: F403
from .loss import *  # noqa: F403
from .metric import *  # noqa: F403
from .nn import bilinear_tensor_product, dropout, embedding, fc, maxout, prelu
from .normalization import *  # noqa: F403
from .recurrent import gru, gru_unit, lstm, lstm_unit, simple_rnn
from .sequence import *  # noqa: F403
from .structured import *  # noqa: F403
from .tensor import *  # noqa: F403
from .tensor_array import *  # noqa: F403
from .vectors import *  # noqa: F403

if TYPE_CHECKING:
    from .ops import *  # noqa: F403
    from .rows import *  # noqa: F403

__all__ = [
    "bilinear_tensor_product", "cond", "dropout", "embedding", "fc", "gru",
    "gru_unit", "lstm", "lstm_unit", "maxout", "ops", "prelu", "scan",
    "simple_rnn", "while_loop",
]
__all__ += conv.__all__
__all__ += dynamic.__all__
__all__ += host.__all__
__all__ += learning_rate_scheduler.__all__
__all__ += loss.__all__
__all__ += metric.__all__
__all__ += normalization.__all__
__all__ += sequence.__all__
__all__ += structured.__all__
__all__ += tensor.__all__
__all__ += tensor_array.__all__
__all__ += vectors.__all__
__all__ += rows.ROWS

for _name in set(__all__) - {"ops", *rows.ROWS}:
    globals()[_name] = checked(globals()[_name], require=require_variable)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in rows.ROWS:
        function = checked(ops.layer_of_row(name), require=require_variable)
    else:
        function = getattr(ops, name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return sorted({*__all__, *ops.names()})
