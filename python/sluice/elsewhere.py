"""The names here of functions of Fluid, PyTorch and Keras, for messages."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar

from .errors import NotFoundError
from .tracebacks import answer, created

F = TypeVar("F", bound=Callable[..., Any])


class LayerCall:
    """A call of a function of :mod:`sluice.layers`, whose ops are one layer."""

    def __init__(self, name: str) -> None:
        self.name = name


# The outermost call of a layer that is running.
LAYER: ContextVar[LayerCall | None] = ContextVar("layer", default=None)


def _entries(table: str) -> dict[str, str]:
    """Entries "NAME, ...: TEXT", divided by lines and bars."""
    pairs = [e.split(": ", 1) for e in re.split(r"\n| \| ", table.strip())]
    return {name: text for names, text in pairs for name in names.split(", ")}


# Arguments: the names here, of which the first that a function has counts; or,
# after a semicolon, what to do.
_ARGUMENTS = _entries(
    """
count_include_pad: exclusive | output_padding: output_size; it is the whole size
dim: axis axes dim | num_groups: groups | lr: learning_rate | out_features: size
dims: axes axis dim | activation: act; call the layer of that name on the result
generator: seed | use_cudnn: ; kernels are chosen by hint='prefer library=CUDNN'
worker_init: worker_init_fn | num_parameters: mode; one of all, channel, element
drop_prob: dropout_prob | data_format: data_layout | data_layout: data_format
axis: axis dim axes | stride: pool_stride | use_bias: bias_attr | x: input x
eps: epsilon | append_batch_size: ; write the batch into the shape: [None, ...]
filters: num_filters | keep_dim: keep_dim keepdims | keepdims: keep_dim keepdims
input: input x logits | training: ; is_test=True says that a layer only predicts
keepdim: keep_dim keepdims | bias: bias_attr; sl.layers.elementwise_add adds one
kernel_initializer: param_attr | ksize: pool_size filter_size | strides: stride
kernel_size: filter_size pool_size ksize | pool_stride: stride pool_stride
mean: loc | other: y | p: dropout_prob p | paddings: padding | sparse: is_sparse
out_channels: num_filters | requires_grad: trainable; set variable.stop_gradient
pool_padding: padding pool_padding | weight_decay: weight_decay regularization
padding: pool_padding | units: size num_filters | weight_attr: param_attr
std: scale | in_channels, in_features, num_features: ; the input's shape says it
betas: ; they are beta1 and beta2 | ceil_mode: ceil_mode; sizes are rounded down
embedding_dim, output_dim: size; it is the second of size=[rows, columns]
input_dim, num_embeddings: size; it is the first of size=[rows, columns]
pin_memory, use_shared_memory: ; workers hand batches over in shared memory
padding_mode: ; only zeros are padded; sl.layers.pad writes others first
reduction: ; layers give a loss a row: sl.layers.mean or reduce_sum it
elementwise_affine: ; scale=False and shift=False leave parameters out
normalized_shape: begin_norm_axis; it and the input's shape say the sizes
    """
)

# Layers, in small letters, as they are called in sluice.layers.
_LAYERS = _entries(
    """
batchnorm3d: batch_norm | bilinear: bilinear_tensor_product | case: cond
convtranspose2d, conv2dtranspose: conv2d_transpose | layernorm: layer_norm
convtranspose3d, conv3dtranspose: conv3d_transpose | groupnorm: group_norm
instancenorm1d, instancenorm2d, instancenorm3d: instance_norm | dense: fc
avgpool2d: pool2d(..., pool_type='avg') | batchnorm: batch_norm | ifelse: cond
batchnorm1d: batch_norm | batchnorm2d: batch_norm | ctcloss, ctc_loss: warpctc
bceloss, binary_cross_entropy: bce_loss | flatten: reshape | linear: fc
bcewithlogitsloss: sigmoid_cross_entropy_with_logits | dynamicrnn: sequence_scan
crossentropyloss: softmax_with_cross_entropy | kldivloss, kl_div: kldiv_loss
lookup_table: embedding | marginrankingloss: margin_rank_loss | rnn: scan
maxpool2d: pool2d | mseloss: mse_loss | nllloss: nll_loss | staticrnn: scan
smoothl1loss: smooth_l1_loss | switch: cond | view: reshape | while: while_loop
permute: transpose | mm, bmm: matmul | cat: concat | silu: swish | chunk: split
maximum: elementwise_max | minimum: elementwise_min | max, amax: reduce_max
min, amin: reduce_min | remainder: elementwise_mod | add_n, sums: sum
floor_divide: elementwise_floordiv | index_select: gather | argmax: arg_max
argmin: arg_min | hardtanh, hard_tanh: clip | arange: range
masked_fill: where | fully_connected: fc
fill_constant_batch_size_like: full_like | interpolate, upsample: resize
adaptive_avg_pool2d, global_avg_pool: pool2d(..., global_pooling=True)
    """
)

# Attributes of modules, by "module.name" or by name alone.
_ATTRIBUTES = _entries(
    """
layers.create_parameter: sl.LayerHelper(...).create_parameter
layers.data: sl.data | lr_scheduler: sl.layers.exponential_decay and its like
CompiledProgram: exe.run(program): it is compiled when it first runs
ParallelExecutor: sl.distributed.DataParallel | randn: sl.layers.gaussian_random
clip_grad_norm, clip_grad_norm_: grad_clip=sl.clip.GradientClipByGlobalNorm(...)
clip_grad_value_: grad_clip=sl.clip.GradientClipByValue(...)
device: sl.CPUPlace() or sl.CUDAPlace(0) | place: sl.CPUPlace
functional, nn: sl.layers | ExponentialLR, StepLR: sl.layers.exponential_decay
manual_seed: program.random_seed = ... | MultiStepLR: sl.layers.piecewise_decay
no_grad: variable.stop_gradient = True, or program.clone(for_test=True)
ones, zeros: sl.layers.fill_constant | CosineAnnealingLR: sl.layers.cosine_decay
optim: sl.optimizer | increment: x + 1, which a while_loop carries on
tensor, to_tensor: sl.Tensor | KaimingNormal: sl.initializer.MSRA(uniform=False)
load: sl.io.load_program, then sl.io.load_params; sl.onnx.load for ONNX
load_inference_model, load_model: sl.io.load_program, then sl.io.load_params
load_params, load_persistables, load_state_dict, load_vars: sl.io.load_params
save: sl.io.save_program and sl.io.save_params | LARS: sl.optimizer.LarsMomentum
save_inference_model: sl.io.save_program(program.clone(for_test=True), path)
save_persistables, save_vars: sl.io.save_params | RMSprop: sl.optimizer.RMSProp
DGCMomentumOptimizer: sl.optimizer.Momentum; gradients are sent whole
PolynomialLR: sl.layers.polynomial_decay
calc_gradient, gradients: sl.append_backward(loss, parameter_list=[x])
create_global_var: sl.layers.fill_constant, or LayerHelper.create_persistable
create_lod_tensor: sl.Ragged(rows, [offsets]), or feed (rows, [lengths])
Optimizer.param_groups: sl.ParamAttr(learning_rate=..., regularizer=...)
Executor.run_debug: exe.run_checked(program, feed, fetch_list)
Optimizer.step, Optimizer.zero_grad: exe.run(program, feed) after minimize(loss)
Variable.backward: optimizer.minimize(loss), or sl.append_backward(loss)
Variable.data, Variable.item, Variable.numpy: exe.run(fetch_list=[variable])
    """
)


# The names of public modules, by how these are written; the package fills it.
PUBLIC: dict[str, Callable[[], Iterable[str]]] = {}
_MODULES = "sl", "sl.io", "sl.optimizer", "sl.initializer", "sl.regularizer"


def argument_help(name: str, known: Iterable[str]) -> str:
    """Advice for an argument that a function does not have; "" if none."""
    known = list(known)
    names, _, sentence = _ARGUMENTS.get(name, "").partition(";")
    for here in names.split():
        if here in known:
            return f" (here {here})"
    near = get_close_matches(name, known, 2, cutoff=0.75)
    if near and not sentence:
        sentence = f"did you mean {' or '.join(near)}?"
    return f" ({sentence.strip()})" if sentence else ""


def checked(
    function: F,
    error: type[Exception] = TypeError,
    require: Callable[[str, Any], Any] | None = None,
) -> F:
    """The function or class, with help for arguments that it does not have.

    With ``require`` it is a layer, and that refuses what is no variable where
    one is annotated.
    """
    if isinstance(function, type):
        function.__init__ = checked(function.__init__)  # type: ignore[misc]
        return function
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    shown = known[1:] if known[:1] == ("self",) else known
    takes_more = code.co_flags & inspect.CO_VARARGS
    most = sys.maxsize if takes_more else code.co_argcount
    types = function.__annotations__ if require else {}
    wanted = [
        (i, name, types[name] == "Variable")
        for i, name in enumerate(known)
        if types.get(name) in ("Variable", "Variable | None")
    ]

    @functools.wraps(function)
    def with_help(*args: Any, **kwargs: Any) -> Any:
        wrong = [name for name in kwargs if name not in known]
        if wrong:
            what = function.__name__
            what = type(args[0]).__name__ if what == "__init__" else what
            text = unknown_argument(what, wrong, shown)
            raise answer(_argument_error(text, error))
        if len(args) > most:
            names = ", ".join(known[code.co_argcount :])
            text = f"{function.__name__}: needs by name: {names}{created()}"
            raise answer(_argument_error(text, error))
        for i, name, needed in wanted:
            if i < len(args) or name in kwargs:
                value = args[i] if i < len(args) else kwargs[name]
                if needed or value is not None:
                    require(f"{function.__name__}: {name}", value)  # type: ignore[misc]
        if require is None or LAYER.get() is not None:
            return function(*args, **kwargs)
        token = LAYER.set(LayerCall(function.__name__))
        try:
            return function(*args, **kwargs)
        finally:
            LAYER.reset(token)

    return with_help  # type: ignore[return-value]


def unknown_argument(what: str, wrong: list[str], known: Iterable[str]) -> str:
    """The message for arguments that a function does not have."""
    known = list(known)
    named = ", ".join(name + argument_help(name, known) for name in wrong)
    has = ", ".join(known)
    return f"{what}: there is no argument {named}; it has {has}{created()}"


def _argument_error(text: str, error: type[Exception]) -> Exception:
    if issubclass(error, NotFoundError):
        return error(text, "python.unknown_argument")
    return error(text)


def attribute_help(module: str, name: str, known: Iterable[str]) -> str:
    """Advice for a name that a module does not have; "" if none."""
    if name[:1] == "_":
        return ""
    here = _ATTRIBUTES.get(f"{module}.{name}") or _ATTRIBUTES.get(name)
    layer = _LAYERS.get(name.lower(), name.lower())
    stem = re.sub("(?<=.)(Optimizer|Initializer|Regularizer)$", "", name)
    for owner, there in [
        *((owner, stem) for owner in _MODULES),
        *(("sl.layers", p + layer) for p in ("", "elementwise_", "reduce_")),
        ("sluice.fluid.layers", name),
    ]:
        found = there.partition("(")[0] in PUBLIC.get(owner, tuple)()
        if here is None and found:
            here = f"{owner}.{there}"
    public = [each for each in known if each[:1] != "_"]
    near = get_close_matches(name, dict.fromkeys(public), 2, cutoff=0.75)
    if here is not None:
        return f"; use {here}"
    return f"; did you mean {' or '.join(near)}?" if near else ""


def help_with_names(module: dict[str, Any]) -> None:
    """Make a module, given its names, explain names that it lacks."""
    module["__getattr__"] = lambda name: missing(
        module["__name__"], name, module["__all__"]
    )


def missing(
    module: str, name: str, known: Iterable[str], text: str = "", more: str = ""
) -> NoReturn:
    """Raise for a name that a module lacks, with help or else with ``more``."""
    short = module.partition(".")[2]
    help = attribute_help(short, name, known)
    text = text or f"module {module!r} has no attribute {name!r}"
    if not help:
        raise answer(AttributeError(text + more))
    # With `obj` Python adds no suggestion of its own.
    raise answer(AttributeError(text + help, obj=None))


def help_with_attributes(cls: Any) -> None:
    """Make objects of a class explain attributes that they lack.

    The table has entries "Class.name".
    """
    cls.__getattr__ = lambda self, name: missing(
        f"sluice.{cls.__name__}", name, dir(cls),
        f"{type(self).__name__!r} object has no attribute {name!r}",
    )  # fmt: skip
