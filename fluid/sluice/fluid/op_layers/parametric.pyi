"""Layers that are one op with parameters or computed attributes: their data.

The functions of this module add what is computed.
:mod:`sluice.fluid.translate.declaration` says what a declaration means.
"""

# The declarations stand close together, as rows of a table do.
# fmt: off
from typing import Any

from ..translate.declaration import (
    Attribute,
    DType,
    FluidOp,
    Name,
    Pair,
    Sizes,
    Triple,
)

def batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05,
    param_attr=None, bias_attr=None, data_layout="NCHW", in_place=False,
    name=None, moving_mean_name: Name = None, moving_variance_name: Name = None,
    do_model_average_for_mean_and_var=True, use_global_stats=False): ...
def data_norm(input, act=None, epsilon=1e-05, param_attr=None,
    data_layout="NCHW", in_place=False, name=None,
    moving_mean_name: Name = None, moving_variance_name: Name = None,
    do_model_average_for_mean_and_var=True, slot_dim=-1, sync_stats=False,
    summary_decay_rate=0.9999999): ...
def group_norm(input, groups: int, epsilon=1e-05, param_attr=None,
    bias_attr=None, act=None, data_layout="NCHW", name=None): ...
def instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None,
    name=None): ...
def layer_norm(input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05,
    param_attr=None, bias_attr=None, act=None, name=None): ...
@FluidOp(stride="strides", dilation="dilations")
def conv2d(input, num_filters: int, filter_size: Sizes, stride: Pair = 1,
    padding=0, dilation: Pair = 1, groups: int | None = None, param_attr=None,
    bias_attr=None, use_cudnn=True, act=None, name=None,
    data_format="NCHW"): ...
@FluidOp(stride="strides", dilation="dilations")
def conv2d_transpose(input, num_filters: int, output_size: Pair | None = None,
    filter_size: Sizes | None = None, padding=0, stride: Pair = 1,
    dilation: Pair = 1, groups: int | None = None, param_attr=None,
    bias_attr=None, use_cudnn=True, act=None, name=None,
    data_format="NCHW"): ...
@FluidOp(stride="strides", dilation="dilations")
def conv3d(input, num_filters: int, filter_size: Sizes, stride: Triple = 1,
    padding=0, dilation: Triple = 1, groups: int | None = None, param_attr=None,
    bias_attr=None, use_cudnn=True, act=None, name=None,
    data_format="NCDHW"): ...
@FluidOp(stride="strides", dilation="dilations")
def conv3d_transpose(input, num_filters: int, output_size: Triple | None = None,
    filter_size: Sizes | None = None, padding=0, stride: Triple = 1,
    dilation: Triple = 1, groups: int | None = None, param_attr=None,
    bias_attr=None, use_cudnn=True, act=None, name=None,
    data_format="NCDHW"): ...
@FluidOp(pool_size="ksize", pool_type="pooling_type", pool_stride="strides")
def pool2d(input, pool_size: Pair = -1, pool_type="max", pool_stride: Pair = 1,
    pool_padding=0, global_pooling=False, use_cudnn=True, ceil_mode=False,
    name=None, exclusive=True, data_format="NCHW"): ...
@FluidOp("pool2d", pool_size="ksize", fixed={"adaptive": True,
    "pooling_type": "avg"})
def _mean_pool2d(input, pool_size: Pair, name=None): ...
@FluidOp("max_pool2d_with_index", pool_size="ksize", fixed={"adaptive": True},
    outputs="Out Mask")
def _max_pool2d(input, pool_size: Pair, name=None): ...
@FluidOp(pool_size="ksize", pool_type="pooling_type", pool_stride="strides")
def pool3d(input, pool_size: Triple = -1, pool_type="max",
    pool_stride: Triple = 1, pool_padding=0, global_pooling=False,
    use_cudnn=True, ceil_mode=False, name=None, exclusive=True,
    data_format="NCDHW"): ...
@FluidOp("pool3d", pool_size="ksize", fixed={"adaptive": True,
    "pooling_type": "avg"})
def _mean_pool3d(input, pool_size: Triple, name=None): ...
@FluidOp("max_pool3d_with_index", pool_size="ksize", fixed={"adaptive": True},
    outputs="Out Mask")
def _max_pool3d(input, pool_size: Triple, name=None): ...
@FluidOp("lookup_table", input="Ids")
def embedding(input, size: list, is_sparse=False, is_distributed=False,
    padding_idx: int | None = None, param_attr=None, dtype="float32"): ...
@FluidOp("lookup_table_v2", input="Ids")
def _embedding(input, size: list, is_sparse=False, is_distributed=False,
    padding_idx: int | None = None, param_attr=None, dtype="float32"): ...
@FluidOp("gru", candidate_activation="activation", h_0="H0")
def dynamic_gru(input, size: int, param_attr=None, bias_attr=None,
    is_reverse=False, gate_activation="sigmoid", candidate_activation="tanh",
    h_0=None, origin_mode=False): ...
@FluidOp("lstm", h_0="H0", c_0="C0", outputs="Hidden Cell")
def dynamic_lstm(input, size: int, h_0=None, c_0=None, param_attr=None,
    bias_attr=None, use_peepholes=True, is_reverse=False,
    gate_activation="sigmoid", cell_activation="tanh",
    candidate_activation="tanh", dtype="float32", name=None): ...
@FluidOp(input="Emission")
def linear_chain_crf(input, label, param_attr=None, length=None): ...
@FluidOp(input="Emission")
def crf_decoding(input, param_attr, label=None, length=None): ...
@FluidOp("nce", sample_weight="SampleWeight")
def _nce(input, label, num_total_classes: int, sample_weight, param_attr,
    bias_attr, num_neg_samples: int, name, sampler: str, custom_dist: Any,
    seed: int): ...
@FluidOp(num_classes="cluster_num", update_center="need_update")
def center_loss(input, label, num_classes: int, alpha: float, param_attr,
    update_center=True): ...
@FluidOp(dtype="out_dtype")
def cast(x, dtype: DType): ...
def log_softmax(input: Any, axis: int | None = None, dtype: DType = None,
    name=None): ...
@FluidOp(unused="dim")
def logsumexp(x, dim: Sizes | None = None, keepdim=False, out=None,
    name=None): ...
@FluidOp(layers="reduce_all reduce_any reduce_max reduce_mean reduce_min "
    "reduce_prod reduce_sum")
def _reduce(input, dim: Sizes | None = None, keep_dim=False, name=None): ...
def linspace(start: Any, stop: Any, num: Any, dtype: DType): ...
@FluidOp(layers="range")
def _range(start: Any, end: Any, step: Any, dtype: DType): ...
@FluidOp(shape=Attribute("shape", "ShapeTensor", "ShapeTensorList"))
def randint(low: int, high: int | None = None, shape: list | None = None,
    out=None, dtype: DType = None, device: str | None = None,
    stop_gradient=False, seed=0, name=None): ...
def meshgrid(input, name=None): ...
@FluidOp("split", dim=Attribute("axis", "AxisTensor"),
    sections=Attribute("sections", None, "SectionsTensorList"))
def _split(input, sections: list | None, num: int | None, dim: int, count: int,
    name): ...
def unstack(x, axis=0, num: int | None = None): ...
