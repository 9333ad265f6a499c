"""Names of Fluid that Sluice does not have, and why."""

from __future__ import annotations

import functools
import pathlib
import sys
import types
from collections.abc import Callable, Container, Mapping
from difflib import get_close_matches
from typing import Any

from ..reader import data_generator
from . import datasets
from .errors import unknown

# Why a layer is not there, by the module of fluid.layers that has it in Fluid.
_OF_LAYERS = {
    "detection": "detection: Sluice has few ops for boxes but layers of its "
    "own, sl.layers.ops.non_max_suppression and sl.layers.py_func",
    "rnn": "write a step with DynamicRNN, StaticRNN or While; beam_search and "
    "beam_search_decode find sentences",
}
# By name, where that says more.
_REASONS = {
    "there is no op for regions of images or offsets of windows; "
    "grid_sampler reads images at any places": """
        deformable_conv deformable_roi_pooling prroi_pool psroi_pool roi_align
        roi_pool""",
    "it calls cuDNN with weights in its own order; use fc and dynamic_lstm, or "
    "StaticRNN": "lstm",
    "gradients of tables become sparse inside of optimizers; no variable of a "
    "program is a SelectedRows": """
        get_tensor_from_selected_rows merge_selected_rows""",
    "it is for instances of a parameter server; choose rows in the reader": """
        filter_by_instag""",
    "its hash is of PaddlePaddle's build; hash ids in the reader": "hash",
    "Sluice has no such op; compute the mask with argmax and one_hot": """
        similarity_focus""",
    "nce draws classes for a loss; Sluice draws them with repetitions": """
        sampled_softmax_with_cross_entropy""",
    "crop images in the reader; Sluice draws one number for a whole run": """
        random_crop""",
    "lod_reset replaces the level; feed a LoDTensor with two": "lod_append",
    "rows need no order by length here: DynamicRNN keeps that of sequences": """
        reorder_lod_tensor_by_rank""",
    "it is an op that reads a file; fluid.io.load_vars reads it once": "load",
}


def left_out_layers(there: Container[str]) -> dict[str, str]:
    """Why layers of Fluid are not there, by name."""
    known = modules()["paddle.fluid.layers"]
    reasons = {
        name: reason
        for module, reason in _OF_LAYERS.items()
        for name in modules()[f"paddle.fluid.layers.{module}"] & known
    }
    for reason, names in _REASONS.items():
        reasons.update(dict.fromkeys(names.split(), reason))
    return {n: reason for n, reason in reasons.items() if n not in there}


class _Kind(type):
    _reason = ""

    def __getattr__(cls, name: str) -> Any:
        raise AttributeError(f"{cls._reason} (it has no {name})")


class LeftOut(metaclass=_Kind):
    """Stands for a name that Sluice does not have: scripts may import it, and
    classes may derive from it; whoever calls it learns why it is not there.
    """

    _reason = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        unknown(self._reason, "fluid.left_out")


@functools.cache
def left_out(module: str, name: str, reason: str) -> type[LeftOut]:
    """The :class:`LeftOut` of a name, the same one at each access."""
    return type(name, (LeftOut,), {
        "__doc__": f"Not there: {reason}.",
        "_reason": f"{module}.{name}: {reason}",
    })  # fmt: skip


def refusing(module: str, reasons: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that lacks some names of Fluid's: they
    can be imported, and whoever calls them learns why they are not there.
    """
    whole = f"paddle.{module}".removesuffix(".")

    def find(name: str) -> Any:
        if f"{whole}.{name}" in modules():
            return stand_in(f"{whole}.{name}")
        if name in reasons or name in modules().get(whole, ()):
            reason = reasons.get(name) or _reason(whole, name)
            return left_out(module, name, reason)
        near = get_close_matches(name, modules().get(whole, ()), 1)
        also = f"; did you mean {near[0]}?" if near else ""
        raise AttributeError(f"module {whole} has no attribute {name}{also}")

    return find


@functools.cache
def modules() -> dict[str, frozenset[str]]:
    """The names of each module of PaddlePaddle 1.8."""
    path = pathlib.Path(__file__).with_name("names_of_fluid.txt")
    parts = (line.split(":") for line in path.read_text("utf-8").splitlines())
    return {module: frozenset(names.split()) for module, names in parts}


_OF_MODULES = {
    "paddle.fluid.dygraph": "its own layers are Linear and Embedding; guard, "
    "to_variable and numpy() compute fluid.layers at once",
    "paddle.fluid.contrib.slim": "models that are quantised already run; see "
    "sl.onnx",
    "paddle.fluid.contrib.decoder": "write a step with DynamicRNN, StaticRNN "
    "or While",
    **dict.fromkeys(
        ("paddle.fluid.dataset", "paddle.fluid.data_feed_desc"),
        "files are read by the reader of the script",
    ),
    "paddle.dataset": "its reader is not here, those of mnist and uci_housing "
    "are; give the reader data of your own",
    **dict.fromkeys(
        ("paddle.fluid.transpiler", "paddle.fluid.incubate",
         "paddle.fluid.distributed", "paddle.distributed"),
        "there is no parameter server; see sl.distributed",
    ),
}  # fmt: skip

# Whose names are those of sluice.fluid.collective.
_COLLECTIVE = (
    "paddle.fluid.incubate.fleet.base.", "paddle.fluid.incubate.fleet.coll"
)  # fmt: skip
_WHOLE: dict[str, types.ModuleType] = {  # whose parents are not there
    "paddle.dataset.common": datasets,
    "paddle.fluid.incubate.data_generator": data_generator,
}


def _reason(module: str, name: str) -> str:
    parts = {m: n for m, n in modules().items() if m.startswith(f"{module}.")}
    homes = [module, *(part for part, names in parts.items() if name in names)]
    found = [w for home in homes for m, w in _OF_MODULES.items() if m in home]
    return found[0] if found else "Sluice does not have it"


@functools.cache
def stand_in(name: str) -> types.ModuleType:
    """A module of PaddlePaddle that Sluice has not as a module: its names are
    those of ``fluid``, or of the module around it, or :class:`LeftOut`.
    """
    if name in _WHOLE:
        return _WHOLE[name]
    parents = [name.rpartition(".")[0], "paddle.fluid", "paddle.fluid.io"]
    if name.startswith(_COLLECTIVE):
        parents.insert(0, "paddle.fluid.collective")
    refuse = refusing(name.removeprefix("paddle."), {})

    def find(attribute: str) -> Any:
        if (
            attribute in modules()[name]
            and f"{name}.{attribute}" not in modules()
        ):
            for parent in parents:
                real = sys.modules.get(parent.replace("paddle", "sluice", 1))
                if attribute in vars(real or types):
                    return vars(real)[attribute]
        return refuse(attribute)

    made = types.ModuleType(name)
    made.__path__ = []
    made.__getattr__ = find  # type: ignore[method-assign]
    if name.startswith("paddle.dataset."):
        vars(made).update(datasets.MODULES.get(name[15:], {}))
    return made
