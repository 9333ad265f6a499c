"""The price of one more of a kind: the lines of operators/ over its ops, and the
median lines of a layer, a handler of ONNX, a row of Fluid and a test case."""

import ast
import re
import statistics

import rooms

OP = re.compile(r"^REGISTER_OPERATOR\(\s*(\w+)", re.M)
ROW_OF_OPS = re.compile(r'^(?: {6}\.name = |    \{|.*Info\(\s*)"(\w+)",', re.M)
HANDLER = re.compile(r"^void \w+\(Node& \w+\) \{$.*?^\}$", re.M | re.S)
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(.*?^\}$", re.M | re.S)


def sources(folder, *suffixes):
    """The texts of the files below a folder."""
    for path in rooms.files(*suffixes):
        if path.is_relative_to(folder):
            yield path, (rooms.ROOT / path).read_text()


def functions(folder, *suffixes):
    """The functions of Python files below a folder."""
    for path, text in sources(folder, *suffixes):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield path, node


def docstring_lines(function):
    if ast.get_docstring(function) is None:
        return 0
    return function.body[0].end_lineno - function.body[0].lineno + 1


def length(function):
    """The lines of a function with its decorators, without its docstring."""
    first = min(node.lineno for node in [function, *function.decorator_list])
    return function.end_lineno - first + 1 - docstring_lines(function)


def is_row(path, function):
    """Whether a function is a row of Fluid's table or declared in a stub."""
    return path.suffix == ".pyi" or any(
        ast.unparse(decorator).startswith("row(")
        for decorator in function.decorator_list
    )


def parts(folder, pattern, *suffixes):
    """The lines of each part of the C++ files that a pattern matches."""
    return [
        part.count("\n") + 1
        for _, text in sources(folder, *suffixes)
        for part in pattern.findall(text)
    ]


def lines_of_an_op():
    """The lines of operators/ over its ops; gradients are part of their ops."""
    lines, ops = 0, set()
    suffixes = (".h", ".cc", ".inc", ".cu", ".cuh")
    for path, text in sources("operators", *suffixes):
        lines += text.count("\n")
        ops.update(OP.findall(text))
        if "REGISTER_TABLE(" in text or path.name.endswith("_rows.inc"):
            ops.update(ROW_OF_OPS.findall(text))
    return lines, len([op for op in ops if not op.endswith("_grad")])


def prices():
    """Lines by kind; 0 where there is none of a kind."""
    layers = [
        length(function)
        for _, function in functions("python/sluice/layers", ".py")
        if not function.name.startswith("_") and function.col_offset == 0
    ]
    rows = [
        length(function)
        for path, function in functions("fluid/sluice/fluid", ".py", ".pyi")
        if is_row(path, function)
    ]
    cases = parts("tests", TEST, ".cc", ".cu") + [
        length(function)
        for _, function in functions("tests", ".py")
        if function.name.startswith("test_")
    ]
    lines, ops = lines_of_an_op()
    medians = {
        "layer": layers,
        "handler of ONNX": parts("onnx/handlers", HANDLER, ".cc"),
        "row of Fluid": rows,
        "test case": cases,
    }
    return {
        "op": round(lines / max(ops, 1)),
        **{
            kind: round(statistics.median(lengths or [0]))
            for kind, lengths in medians.items()
        },
    }
