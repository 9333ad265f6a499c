"""Names of Fluid that Sluice does not have, and why."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import UnimplementedError
from ..framework import created

__all__ = ["LEFT_OUT", "left_out", "refusing"]

_REASONS = {
    "detection: Sluice has no ops for boxes but layers of its own, "
    "sl.layers.ops.non_max_suppression and sl.layers.py_func": """
        anchor_generator bipartite_match box_clip box_coder
        box_decoder_and_assign collect_fpn_proposals density_prior_box
        detection_output distribute_fpn_proposals generate_mask_labels
        generate_proposal_labels generate_proposals iou_similarity
        locality_aware_nms matrix_nms multi_box_head multiclass_nms
        polygon_box_transform prior_box retinanet_detection_output
        retinanet_target_assign roi_perspective_transform rpn_target_assign
        ssd_loss target_assign yolo_box yolov3_loss""",
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
    "write a step with DynamicRNN, StaticRNN or While; beam_search and "
    "beam_search_decode find sentences": """
        BasicDecoder BeamSearchDecoder DecodeHelper Decoder GRUCell
        GreedyEmbeddingHelper LSTMCell RNNCell SampleEmbeddingHelper
        TrainingHelper dynamic_decode rnn""",
    "rows need no order by length here: DynamicRNN keeps that of sequences": """
        reorder_lod_tensor_by_rank""",
    "it is an op that reads a file; fluid.io.load_vars reads it once": "load",
}
LEFT_OUT = {
    name: reason for reason, names in _REASONS.items() for name in names.split()
}


class LeftOut:
    """Stands for a name that Sluice does not have: scripts may import it, and
    classes may derive from it; whoever calls it learns why it is not there.
    """

    _reason = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnimplementedError(f"{self._reason}{created()}", "fluid.left_out")


@functools.cache
def left_out(module: str, name: str, reason: str) -> type[LeftOut]:
    """The :class:`LeftOut` of a name, the same one at each access."""
    return type(name, (LeftOut,), {
        "__doc__": f"Not there: {reason}.",
        "_reason": f"{module}.{name}: {reason}",
    })  # fmt: skip


def refusing(module: str, reasons: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that lacks some names."""

    def find(name: str) -> Any:
        if name in reasons:
            raise UnimplementedError(
                f"{module}.{name}: {reasons[name]}{created()}", "fluid.left_out"
            )
        raise AttributeError(f"module {module} has no attribute {name}")

    return find
