"""Files of parameters and models, and readers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from .. import executor as sluice_executor
from ..framework import program_guard as sluice_guard
from ..reader import decorators
from ..reader.decorators import *  # noqa: F403
from . import parameters, program_file
from .backward import names_of
from .conditions import BlockOp
from .edits import needed
from .errors import too_early, unknown, wrong
from .framework import (
    Block,
    Operator,
    Parameter,
    Program,
    Variable,
    code_of,
    default_main_program,
)
from .model_files import LOD_TENSOR, FileOp, of_bytes, ops_of, saved
from .readers import DataFeeder, DataLoader, PyReader
from .translate import ROWS
from .translate.blocks import Array

__all__ = [
    "DataFeeder", "DataLoader", "PyReader", "get_program_parameter",
    "get_program_persistable_vars", "is_parameter", "is_persistable",
    "load_inference_model", "load_params", "load_persistables", "load_vars",
    "save_inference_model", "save_params", "save_persistables", "save_vars",
]  # fmt: skip
__all__ += decorators.__all__

Predicate = Callable[[Variable], bool]


def is_persistable(var: Variable) -> bool:
    """Whether the variable is stored."""
    return var.persistable


def is_parameter(var: Variable) -> bool:
    """Whether a layer made the variable, to be trained or not."""
    return isinstance(var, Parameter)


def get_program_persistable_vars(program: Program) -> list[Variable]:
    """The stored variables of a program."""
    return [v for v in program.list_vars() if v.persistable]


def get_program_parameter(program: Program) -> list[Variable]:
    """The parameters of a program."""
    return [v for v in program.list_vars() if is_parameter(v)]


def get_parameter_value(para: Variable, executor: Any) -> np.ndarray:
    """The value of a parameter, as a copy."""
    return _values([getattr(para, "name", para)]).popitem()[1]


def get_parameter_value_by_name(
    name: str, executor: Any, program: Program | None = None
) -> np.ndarray:
    """The value of the parameter of a name, as a copy."""
    return get_parameter_value(name, executor)


def _chosen(
    program: Program | None, vars: Any, predicate: Predicate | None
) -> dict[str, parameters.Expected]:
    program = default_main_program() if program is None else program
    program = getattr(program, "program", program)  # of a CompiledProgram
    if vars is None:
        stored = get_program_persistable_vars(program)
        vars = [v for v in stored if predicate is None or predicate(v)]
    return {
        v.name: parameters.Expected(code_of(v.dtype), list(v.shape))
        for v in vars
    }


def load_vars(
    executor: Any,
    dirname: str,
    main_program: Program | None = None,
    vars: Sequence[Variable] | None = None,
    predicate: Predicate | None = None,
    filename: str | None = None,
) -> None:
    """Read stored variables from PaddlePaddle's files.

    Args:
        executor: has no effect.
        dirname: the folder.
        main_program: the default main program if None.
        vars: which ones; by default those that ``predicate`` takes.
        predicate: says for a variable whether it is read.
        filename: one file of all; else a file each.

    Raises:
        NotFoundError: a file is missing.
        DataLossError: a file is damaged.
        InvalidArgumentError: a variable has another type or shape.
    """
    expected = _chosen(main_program, vars, predicate)
    file = None if filename is None else os.path.join(dirname, filename)
    scope = sluice_executor.global_scope()
    for name, value in dict(parameters.read(dirname, file, expected)).items():
        scope[name] = value


def _values(names: Any) -> dict[str, np.ndarray]:
    scope = sluice_executor.global_scope()
    missing = [name for name in names if scope.find_var(name) is None]
    if missing:
        too_early(
            f"{', '.join(missing)}: no value yet; run the startup program "
            "first",
            "fluid.no_value",
        )
    return {name: scope[name].numpy() for name in names}


def save_vars(
    executor: Any,
    dirname: str,
    main_program: Program | None = None,
    vars: Sequence[Variable] | None = None,
    predicate: Predicate | None = None,
    filename: str | None = None,
) -> None:
    """Write stored variables as :func:`load_vars` reads them."""
    parameters.make_folder(dirname)
    file = None if filename is None else os.path.join(dirname, filename)
    parameters.write(
        dirname, file, _values(_chosen(main_program, vars, predicate))
    )


def _of(all: Callable[..., None], predicate: Predicate) -> Callable[..., None]:
    def function(
        executor: Any,
        dirname: str,
        main_program: Program | None = None,
        filename: str | None = None,
    ) -> None:
        all(executor, dirname, main_program, None, predicate, filename)

    function.__doc__ = all.__doc__
    return function


load_params = _of(load_vars, is_parameter)
load_persistables = _of(load_vars, is_persistable)
save_params = _of(save_vars, is_parameter)
save_persistables = _of(save_vars, is_persistable)


def _loops(ops: Sequence[Operator]) -> list[str]:
    """The types of ops that files cannot have."""
    found = [op.type for op in ops if op.is_loop and op.type not in BLOCK_SLOTS]
    inner = [op for op in ops if op.type in BLOCK_SLOTS]
    return found + [type for op in inner for type in _loops(op.ops)]


# By op with a block: the slots of what it reads, and of its scope.
BLOCK_SLOTS = {
    "while": ("X", "StepScopes"),
    "conditional_block": ("Input", "Scope"),
}
# Outputs that PaddlePaddle demands, although only gradients read them.
_FOR_GRADIENTS = {
    "batch_norm": "SavedMean SavedVariance",
    "data_norm": "Means Scales",
    "flatten2": "XShape",
    "group_norm": "Mean Variance",
    "gru": "BatchGate BatchResetHiddenPrev BatchHidden",
    "hierarchical_sigmoid": "PreOut W_Out",
    "huber_loss": "Residual",
    "instance_norm": "SavedMean SavedVariance",
    "layer_norm": "Mean Variance",
    "linear_chain_crf": "Alpha EmissionExps TransitionExps",
    "lrn": "MidOut",
    "lstm": "BatchGate BatchCellPreAct",
    "lstmp": "BatchGate BatchCellPreAct BatchHidden",
    "nce": "SampleLogits SampleLabels",
    "norm": "Norm",
    "reshape2": "XShape",
    "sequence_pool": "MaxIndex",
    "squeeze2": "XShape",
    "transpose2": "XShape",
    "unsqueeze2": "XShape",
    "warpctc": "WarpCTCGrad",
}
STEP_SCOPES, TENSOR_ARRAY = 11, 13  # kinds of variables
_LISTS = {bool: 7, int: 3, float: 4, str: 5}
_SCALARS = {bool: 6, int: 0, float: 1, str: 2}


def _attribute(op: str, name: str, value: Any) -> tuple[int, Any]:
    """A value with the type that PaddlePaddle reads."""
    if isinstance(value, (list, tuple)):
        kind = type(value[0]) if value else int
        return _LISTS[kind], list(value)
    default = ROWS[op].attributes.get(name) if op in ROWS else None
    if isinstance(default, float):
        if isinstance(value, int) and int(np.float32(value)) != value:
            unknown(
                f"save_inference_model: {op} has {name}={value}, which float32,"
                " as PaddlePaddle's files have it, does not hold",
                "fluid.save_integer",
            )
        return 1, float(value)
    if isinstance(value, int) and not -(2**31) <= value < 2**31:
        return 9, value
    return _SCALARS[type(value)], value


def _declared(name: str, code: int, dims: Any, **more: Any) -> dict[str, Any]:
    made = {
        "name": name, "kind": LOD_TENSOR, "dtype": code, "dims": list(dims),
        "lod_level": 0, "persistable": False,
    }  # fmt: skip
    return {**made, **more}


def save_inference_model(
    dirname: str,
    feeded_var_names: Any,
    target_vars: Any,
    executor: Any,
    main_program: Program | None = None,
    model_filename: str | None = None,
    params_filename: str | None = None,
    export_for_deployment: bool = True,
    program_only: bool = False,
) -> list[str]:
    """Write the ops that the targets need, and their parameters, in
    PaddlePaddle's format, which :func:`sluice.fluid.load` reads, too.

    Args:
        dirname: the folder; it is made if there is none.
        feeded_var_names: the inputs, in their order; a name or several.
        target_vars: the outputs; a variable or several.
        executor, export_for_deployment: have no effect.
        main_program: the default main program if None.
        model_filename: ``"__model__"`` if None.
        params_filename: a file of all parameters; a file each if None.
        program_only: whether to leave the parameters out.

    Returns:
        The names of the targets.

    Raises:
        FailedPreconditionError: a parameter has no value yet.
        InvalidArgumentError: an input that is needed is not listed.
        UnimplementedError: the program has loops other than While.
    """
    program = default_main_program() if main_program is None else main_program
    targets = names_of(target_vars or ())
    feeds = names_of(feeded_var_names or ())
    ops = needed(program.global_block().ops, targets)
    loops = _loops(ops)
    if loops:
        unknown(
            f"save_inference_model: {', '.join(loops)} cannot be written, "
            "while and conditional_block can; sl.io.save_program("
            "program.sluice, path) writes all of it in Sluice's format",
            "fluid.save_loops",
        )
    read = {name for op in ops for name in op.input_arg_names}
    fed = {name for name, *_ in program.feeds} & read
    if fed - {*feeds}:
        wrong(
            f"save_inference_model: {', '.join(sorted(fed - {*feeds}))}"
            f" is needed for {', '.join(targets)}, but not among "
            "feeded_var_names",
            "fluid.feeded_var_names",
        )
    names = dict.fromkeys(
        [*feeds, *targets]
        + [n for op in ops for n in (*op.input_arg_names, *op.output_arg_names)]
    )
    stored = [name for name in names if name in program.stored]
    parameters.make_folder(dirname)
    params = params_filename
    file = None if params is None else os.path.join(dirname, params)
    model = model_filename or "__model__"
    desc = _described(program, ops, names, feeds, targets)
    if not program_only:
        parameters.write(dirname, file, _values(stored), model)
    text = program_file.serialize_program(desc)
    _core._replace_file(os.path.join(dirname, model), [text])
    return targets


def load_inference_model(
    dirname: str,
    executor: Any,
    model_filename: str | None = None,
    params_filename: str | None = None,
    pserver_endpoints: Any = None,
) -> list[Any]:
    """Read a model as a program, and its parameters into the global scope.

    :func:`sluice.fluid.load` prepares it better: what depends on parameters
    alone is then computed once.

    Args:
        dirname: the folder.
        executor, pserver_endpoints: have no effect.
        model_filename: ``"__model__"`` if None.
        params_filename: a file of all parameters; a file each if None.

    Returns:
        The program, the names of its inputs, and the variables of its outputs.

    Raises:
        SluiceError: as :func:`sluice.fluid.load` does.
    """
    params = params_filename and os.path.join(dirname, params_filename)
    file = saved(os.path.join(dirname, model_filename or "__model__"), params)
    program, scope = Program(), sluice_executor.global_scope()
    block = program.global_block()
    for name, value in file.read():
        block.persistable(name, value.shape, code_of(value.dtype))
        scope.set(name, value, copy=False)
    _append(block, file, file.feeds())
    feeds = [name for name, *_ in file.feeds()]
    fetches = file.by_column("fetch", "inputs", "X")
    return [program, feeds, [block.var(name) for name in fetches]]


def _append(block: Block, file: Any, feeds: Sequence[Any]) -> None:
    """Declare what is fed, and append the ops of a file."""
    for feed in feeds:
        block.data(*feed)
    for op in ops_of(file, 0):
        with op.named, sluice_guard(block.program.sluice):
            if op.inside is None:
                block.append_op(op.type, op.inputs, op.outputs, op.attrs)
            else:
                block.append_region(_read(file, op))


def serialized(program: Program) -> bytes:
    """The ops in PaddlePaddle's format, see :func:`parsed`.

    Raises:
        UnimplementedError: the program has an optimizer, whose updates the
            format of Sluice's programs cannot say.
    """
    if program.steps:
        unknown(
            "serialize_to_string: gradients and updates of an optimizer cannot "
            "be written; clone(for_test=True) leaves them out",
            "fluid.serialize",
        )
    block = program.global_block()
    named = [n for op in block.ops for n in
             (*op.input_arg_names, *op.output_arg_names)]  # fmt: skip
    names = dict.fromkeys([*program.stored, *block.vars, *named])
    return program_file.serialize_program(
        _described(program, block.ops, names, [], [])
    )


def parsed(binary_str: bytes) -> Program:
    """The program that :func:`serialized`, or PaddlePaddle, wrote.

    Raises:
        SluiceError: as :func:`sluice.fluid.load` does.
    """
    file, program = of_bytes(binary_str, "the string", None), Program()
    block, made = program.global_block(), {"feed", "fetch"}
    for name, (dtype, dims) in file.expected.items():
        block.persistable(name, dims, dtype)
    made.update(
        name
        for op in ops_of(file, 0)
        for names in op.outputs.values()
        for name in names
    )
    feeds = [file.feed(n) for n in file.declared if n not in made]
    _append(block, file, [f for f in feeds if f[0] not in file.expected])
    return program


def _read(file: Any, op: FileOp) -> Operator:
    """An op of a file, with the ops of its block."""
    if op.inside is None:
        return Operator(op.type, op.inputs, op.outputs, op.attrs, "forward")
    read, scope = BLOCK_SLOTS[op.type.removesuffix("_infer")]
    attrs = {k: v for k, v in op.attrs.items() if k != "sub_block"}
    inputs = {k: v for k, v in op.inputs.items() if k != read}
    outputs = {k: v for k, v in op.outputs.items() if k != scope}
    made = BlockOp(op.type, inputs, {"Out": [], **outputs}, attrs)
    made.ops = [_read(file, each) for each in ops_of(file, op.inside)]
    return made


def _described(
    program: Program,
    ops: Sequence[Operator],
    names: Any,
    feeds: list[str],
    fetches: list[str],
) -> dict[str, Any]:
    variables = [
        _declared("feed", 5, [], kind=9, persistable=True),
        _declared("fetch", 5, [], kind=10, persistable=True),
        *(_variable(program, name) for name in names),
    ]
    col = [
        [
            {
                "type": type,
                "inputs": {"X": ["feed" if type == "feed" else name]},
                "outputs": {"Out": [name if type == "feed" else "fetch"]},
                "attrs": {"col": (0, at)},
            }
            for at, name in enumerate(given)
        ]
        for type, given in (("feed", feeds), ("fetch", fetches))
    ]
    blocks: list[dict[str, Any]] = [{"parent": -1, "vars": variables}]
    made = [_op(program, op, blocks, 0) for op in ops]
    blocks[0]["ops"] = col[0][::-1] + made + col[1]
    return {"version": 1008005, "blocks": blocks}


def _variable(program: Program, name: str) -> dict[str, Any]:
    """The declaration of a variable; of those of blocks the name is known."""
    for fed, sizes, code, lod in program.feeds:
        if fed == name:
            dims = [-1 if size is None else size for size in sizes]
            return _declared(name, code, dims, lod_level=lod)
    value = program.translation.find(name)
    if value is None:  # of a block, or not made, such as XShape
        return _declared(name, 5, [])
    if isinstance(value, Array):
        return _declared(name, code_of(value.dtype), [], kind=TENSOR_ARRAY)
    var = program.global_block().var(name)
    return _declared(
        name,
        code_of(var.dtype),
        var.shape,
        lod_level=var.lod_level,
        persistable=name in program.stored,
    )


def _op(
    program: Program, op: Operator, blocks: list[dict[str, Any]], parent: int
) -> dict[str, Any]:
    """An op; its block is added to those of the file."""
    given = dict(op.attrs)
    number = given.get("value")
    if op.type.startswith("fill_constant") and isinstance(number, int):
        given |= {"value": float(number), "str_value": str(number)}
    attrs = {
        name: _attribute(op.type, name, True if name == "is_test" else value)
        for name, value in given.items()
    }
    inputs, outputs = op.inputs, op.outputs
    if op.type in BLOCK_SLOTS:
        at = len(blocks)
        attrs["sub_block"] = (program_file.BLOCK, at)
        own = [name for each in op.ops for name in each.output_arg_names]
        own = [n for n in dict.fromkeys(own) if n not in op.output_arg_names]
        scope, read = f"{op.type}.scope_{at}", BLOCK_SLOTS[op.type][0]
        blocks.append(
            {"parent": parent, "vars": [_variable(program, n) for n in own]}
        )
        blocks[at]["ops"] = [_op(program, o, blocks, at) for o in op.ops]
        blocks[parent]["vars"].append(_declared(scope, 5, [], kind=STEP_SCOPES))
        inputs = {**inputs, read: op.input_arg_names}
        outputs = {**outputs, BLOCK_SLOTS[op.type][1]: [scope]}
    for slot in _FOR_GRADIENTS.get(op.type, "").split():
        if not outputs.get(slot):
            variables = blocks[parent]["vars"]
            name = f"{op.type}.{slot}_{len(variables)}"
            variables.append(_declared(name, 5, []))
            outputs = {**outputs, slot: [name]}
    return {
        "type": op.type, "inputs": inputs, "outputs": outputs, "attrs": attrs
    }  # fmt: skip
