"""What messages, docstrings and pages advise exists: each name, argument and
variable of the environment that stands in them as code."""

import ast
import importlib
import inspect
import pathlib
import re

import pytest

import sluice as sl
import sluice.fluid
import sluice.onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROOMS = "platform memory framework operators onnx laboratory nn fluid python".split()
# What short names stand for in messages and on pages.
OBJECTS = {
    "sl": [sl],
    "sluice": [sl],
    "fluid": [sluice.fluid],
    "exe": [sl.Executor],
    "executor": [sl.Executor],
    "program": [sl.Program(), sluice.fluid.Program()],
    "startup": [sl.Program()],
    "scope": [sl.Scope(), sluice.fluid.global_scope()],
    "plan": [sl.Plan],
    "model": [sluice.onnx.Model],
    "session": [sluice.onnxruntime.InferenceSession],
    "profile": [sl.Profile],
}
# Sources whose texts are code that Python runs, which tests run as such.
CODE = ("generate.py", "layer_table.py", "formula_layers.py", "schedules.py", "nets.py", "reproduce.py")
# Names of metadata in files.
KEYS = re.compile(r"sluice\.(machine|measured_\w+|place|reason|report|threads)")
FILES = ("json", "cc", "h", "onnx", "svg", "py", "program")
PATH = re.compile(r"(?<![\w./$-])([A-Za-z_]\w*(?:\.\w+)*)(?=(\(?))")
CALL = re.compile(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


def texts_of_python(path):
    """The strings of a source; what f-strings insert is `_`. Docstrings by
    themselves, since examples in them are run elsewhere."""
    tree = ast.parse(path.read_text("utf-8"))
    inside, docs = set(), set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            docs.add(id(body[0].value))
        if isinstance(node, ast.JoinedStr):
            inside.update(map(id, node.values))
            yield "".join(
                part.value if isinstance(part, ast.Constant) else "_" for part in node.values
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            if id(node) in docs:
                yield from re.findall(r"`+([^`]+)`+", node.value)
            else:
                yield node.value


def texts_of_cpp(path):
    text = re.sub(r"(?m)//.*$|^#include.*$", "", path.read_text("utf-8"))
    text = re.sub(r'"\s*\n\s*"', "", text)
    for found in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', text):
        yield found[1].replace('\\"', '"').replace("{}", "_")


def texts():
    """All texts that users read: messages, docstrings, tables of advice, pages."""
    for path in sorted((ROOT / "python/sluice").rglob("*.py")):
        if path.name not in CODE:
            yield from ((path, text) for text in texts_of_python(path))
    for room in ROOMS:
        for end in ("cc", "h", "cu", "inc"):
            for path in sorted((ROOT / room).rglob(f"*.{end}")):
                yield from ((path, text) for text in texts_of_cpp(path))
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("design/*.md")]:
        prose = re.sub(r"(?ms)^(`{3,}).*?^\1$", "", page.read_text("utf-8"))
        yield from ((page, text) for text in re.findall(r"`([^`]+)`", prose))


def advised():
    """Names of OBJECTS with their arguments, and where they stand."""
    found = {}
    for path, text in texts():
        if re.fullmatch(r"[a-z_]+\.\w+", text) and path.suffix != ".md":
            continue  # the id of a check, or the name of a module
        for name in PATH.finditer(text):
            head, *parts = name[1].split(".")
            template = parts and (parts[-1].strip("_") == "" or parts[-1] in FILES)
            if head not in OBJECTS or not parts or template or KEYS.fullmatch(name[1]):
                continue
            if head == "plan" and path.stem == "measurements":
                continue  # members of a report's JSON
            call = CALL.match(text, name.end()) if name[2] else None
            found.setdefault(name[1] + (call[0] if call else ""), path)
    return sorted(found.items())


def called_by_name_alone():
    """Calls with keywords, such as `explain(all=True)`, in messages and pages."""
    found = {}
    for path, text in texts():
        if "operators" in path.parts and path.suffix != ".md":
            continue  # formulas
        for name in re.finditer(r"(?<![\w.\\])([a-z]\w+)(?=\()", text):
            call = CALL.match(text, name.end())
            if call and re.search(r"[(, ]\w+=", call[0]) and (" " in text or path.suffix == ".md"):
                found.setdefault(name[1] + re.sub(r"\s+", " ", call[0]), path)
    return sorted(found.items())


def resolved(name):
    head, *parts = name.split(".")
    for value in OBJECTS[head]:
        try:
            for part in parts:
                value = getattr(value, part)
            return value
        except (AttributeError, sl.errors.NotFoundError):
            pass
    attribute = rf"(?m)^ +(self\.)?{parts[0]}(: | =|\()"
    if value is sluice.onnx.Model and re.search(attribute, inspect.getsource(value)):
        return None
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.fail(f"there is no {name}")


def arguments_of(function):
    """The names of a function's arguments; None if any will do."""
    made = getattr(function, "__nb_signature__", None)
    if made is None and inspect.isclass(function):
        made = getattr(function.__init__, "__nb_signature__", None)
    if made:
        return set(re.findall(r"(\w+)(?::|=|,)", "".join(one[0] for one in made)))
    parameters = inspect.signature(function).parameters
    takes_any = any(one.kind == one.VAR_KEYWORD for one in parameters.values())
    return None if takes_any else set(parameters)


@pytest.mark.parametrize("code, path", [pytest.param(*one, id=one[0]) for one in advised()])
def test_what_is_advised_exists(code, path):
    name, bracket, _ = code.partition("(")
    if re.search(r"^(program|scope|executor|plan)\.[A-Z]", name):
        method = rf"\b{name.partition('.')[2]}\("
        headers = (ROOT / "framework").rglob("*.h")
        assert any(re.search(method, one.read_text()) for one in headers), path
        return
    value = resolved(name)
    if bracket and value is not None:
        assert callable(value), path
        code = re.sub(r"\s+", " ", code)
        call = ast.parse(code.replace("...", "_")).body[0].value
        known = arguments_of(value)
        assert known is None or {one.arg for one in call.keywords} <= known, path


# Whose functions and methods are called by their names alone.
OWNERS = [sl, sl.layers, sl.io, sl.lab, sl.onnx, sl.distributed, sl.optimizer, sl.metrics]
OWNERS += [sl.Executor, sl.Program, sl.Plan, sl.Tensor, sl.Profile, sl.Explanation]
OWNERS += [sl.optimizer.Optimizer, sl.io.DataLoader, sluice.fluid, sluice.fluid.layers]


@pytest.mark.parametrize("code", [pytest.param(one, id=one) for one, _ in called_by_name_alone()])
def test_what_is_called_by_its_name_alone_exists(code):
    name, _, _ = code.partition("(")
    found = [getattr(one, name) for one in OWNERS if name in dir(one)]
    found = [one for one in found if callable(one)]  # sl.draw is a module
    assert found, name
    keywords = {one.arg for one in ast.parse(code.replace("...", "_")).body[0].value.keywords}
    known = [arguments_of(one) for one in found]
    assert any(one is None or keywords <= one for one in known), known
