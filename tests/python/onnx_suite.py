"""The tests of the onnx package's backend suite that Sluice does not pass.

  python tests/python/onnx_suite.py          prints how many pass
  python tests/python/onnx_suite.py --write  and rewrites LIST and VARIANT_LIST

LIST has every test that does not pass, after Sluice's reason. VARIANT_LIST has
those of the passing node tests that fail if the model specifies less about its
inputs (Sizes, Ranks) or more (Constants), and if Sluice saved the model
(Saved). It contains only errors: wrong values are never expected.
test_onnx_suite.py compares both with the installed package.
"""

from __future__ import annotations

import argparse
import collections
import copy
import functools
import importlib.metadata
import io
import os
import pathlib
import re
import sys
import tempfile
import warnings
from typing import Any

import numpy as np

FOLDER = pathlib.Path(__file__).parents[1] / "onnx"
LIST = FOLDER / "suite_failures.txt"
VARIANT_LIST = FOLDER / "suite_variant_failures.txt"
COMMAND = "./dev onnx_suite"
HEAD = f"""\
# The tests of ONNX's backend suite that Sluice does not pass, by reason.
# {COMMAND} writes this file; a test compares it.
"""
VARIANT_HEAD = f"""\
# The tests of nodes that Sluice passes in ONNX's backend suite, but not where
# - Sizes: the sizes of all inputs are symbols,
# - Ranks: no input has a shape,
# - Constants: all inputs are initialisers,
# - OneRank and OneConstant: one input is so, each in its turn,
# - Saved: the model is saved and loaded again.
# {COMMAND} writes this file; a test compares it.
"""
# The names of runner.Runner, without "Model".
KINDS = ("Node", "Simple", "PyTorchConverted", "PyTorchOperator", "Real")
VARIANTS = ("Sizes", "Ranks", "Constants", "OneRank", "OneConstant", "Saved")
NEWEST_SAVED_OPSET = 28
Outcomes = dict[str, BaseException | None]


def fed(graph: Any) -> list[Any]:
    """The inputs of a graph except initialisers."""
    constants = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in constants]


def drop_sizes(value: Any) -> None:
    """Replaces all sizes of an input by symbols; the rank is unchanged."""
    for axis, size in enumerate(value.type.tensor_type.shape.dim):
        size.dim_param = f"{value.name}_{axis}"


def drop_rank(value: Any) -> None:
    """Removes the shape of an input."""
    if value.type.HasField("tensor_type"):
        value.type.tensor_type.ClearField("shape")


def flat(outputs: Any) -> list[Any]:
    """The outputs; in place of a sequence its length and its tensors."""
    return [
        part
        for value in outputs
        for part in (
            [np.array(len(value)), *value]
            if isinstance(value, (list, tuple))
            else [value]
        )
    ]


def suite() -> Any:
    """The suite; its attribute `backend` runs the models."""
    # Values that are cast out of range, by the suite itself.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    import onnx.backend.test

    class Runner(onnx.backend.test.BackendTest):
        """Compares sequences like as many outputs.

        The suite's own comparison passes over tensors that are missing at the
        end of a sequence, and raises TypeError for those of rank 0.
        """

        @classmethod
        def assert_similar_outputs(cls, ref_outputs, outputs, *more, **options):
            super().assert_similar_outputs(
                flat(ref_outputs), flat(outputs), *more, **options
            )

    runner = Runner(backend_of("", None), __name__)
    kinds = sorted(f"{kind}Model" for kind in KINDS)
    assert sorted(runner._test_items) == kinds
    return runner


@functools.cache
def backend_of(variant: str, only: int | None) -> type:
    """A backend that loads models unchanged (""), or changed.

    Args:
        variant: one of VARIANTS.
        only: the input that is changed; None for all of them.
    """
    import sluice as sl
    from onnx import load_model_from_string, numpy_helper
    from sluice.onnx import backend

    drop = drop_sizes if variant == "Sizes" else drop_rank
    values = slice(None) if only is None else slice(only, only + 1)

    class Changed(backend.SluiceBackend):
        """Models that cannot be loaded fail: they are not skipped."""

        is_compatible = None

        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            if variant:
                model = copy.deepcopy(model)
                for value in fed(model.graph)[values]:
                    drop(value)
            return super().prepare(model, device, **kwargs)

    class Constants(backend.SluiceBackend):
        """Loads a model once its inputs are known."""

        is_compatible = None

        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            return cls(model)

        def __init__(self, model):
            self.model = model

        def run(self, inputs):
            model = copy.deepcopy(self.model)
            given = dict(
                zip([value.name for value in fed(model.graph)], inputs)
            )
            for value in fed(model.graph)[values]:
                if value.type.HasField("tensor_type") and value.name in given:
                    array = np.asarray(given.pop(value.name))
                    model.graph.initializer.append(
                        numpy_helper.from_array(array, value.name)
                    )
            return super().prepare(model).run(given)

    class Saved(backend.SluiceBackend):
        is_compatible = None

        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            file = io.BytesIO()
            loaded = super().prepare(model).model
            names = [value.name for value in model.graph.output]
            if loaded is None or names != [v.name for v in loaded.outputs]:
                raise sl.UnimplementedError("a sequence is not saved", "")
            loaded.save(file, opset=NEWEST_SAVED_OPSET)
            return backend.SluiceBackendRep(load_model_from_string(file.getvalue()))

    if variant == "Saved":
        return Saved
    return Constants if variant.endswith(("Constants", "Constant")) else Changed


def outcome(item: Any) -> BaseException | None:
    """The exception of a test; None if it passes."""
    try:
        item.func(None)
    # Includes unittest.SkipTest: nothing is skipped.
    except Exception as error:
        return error
    return None


def outcomes() -> Outcomes:
    """The exception of each test, by "Kind/test_name"; None if it passes."""
    items = suite()._test_items
    found: Outcomes = {}
    # The suite writes inputs of the real networks to this folder.
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ONNX_MODELS"] = folder
        for kind in KINDS:
            for name, item in sorted(items[kind + "Model"].items()):
                if name.endswith("_cpu"):
                    key = f"{kind}/{name.removesuffix('_cpu')}"
                    found[key] = outcome(item)
        del os.environ["ONNX_MODELS"]
    return found


def variant_outcomes(plain: Outcomes) -> Outcomes:
    """The exceptions of the passing node tests in each variant, by
    "Variant/test_name". If a test runs several times, wrong values take
    precedence over errors."""
    from onnx.backend.test.loader import load_model_tests

    models = {case.name: case.model for case in load_model_tests(kind="node")}
    runner = suite()
    items = runner._test_items["NodeModel"]
    names = [
        key.removeprefix("Node/")
        for key, error in plain.items()
        if key.startswith("Node/") and error is None
    ]
    found: Outcomes = {}
    for variant in VARIANTS:
        for name in names:
            item = items[f"{name}_cpu"]
            inputs = len(fed(models[name].graph))
            several = range(inputs) if inputs > 1 else []
            errors = []
            for only in several if variant.startswith("One") else [None]:
                runner.backend = backend_of(variant, only)
                errors.append(outcome(item))
            errors.sort(key=lambda error: not isinstance(error, AssertionError))
            raised = [error for error in errors if error is not None]
            found[f"{variant}/{name}"] = raised[0] if raised else None
    return found


def wrong(found: Outcomes) -> list[str]:
    """The tests with wrong results."""
    return sorted(
        key for key, error in found.items() if isinstance(error, AssertionError)
    )


def reason(error: BaseException) -> str:
    """Why a test does not pass, in one line that is equal for all tests with
    that reason and on every machine."""
    text = str(error).strip()
    lines = text.splitlines() or [""]
    value = re.search(
        r"^ *(?:input|output|initializer) \S+ (?:of the graph )?((?:has|is) .*)",
        text,
        re.M,
    )
    if value:
        return f"an input or output {value[1]}"
    # Selects the first line of "node 0 (Relu) in node 2 (If): ...".
    nodes = re.findall(
        r"^ *node .+? \(([\w.]+)\)(?: in node [^:]+)?: (.+)$", text, re.M
    )
    # "  relu (makes y): ...; created at ..." for a model that is being saved.
    nodes += re.findall(r"^  (\w+) \(makes \S+\): (.+); created at", text, re.M)
    if nodes:
        types = collections.defaultdict(set)
        for kind, message in nodes:
            types[message].add(kind)
        return "; ".join(
            f"{', '.join(sorted(types[message]))}: {message}"
            for message in sorted(types)
        )
    if isinstance(error, AssertionError):
        # The number of different elements depends on the processor.
        if "Mismatched elements" in text and "shape" not in lines[0]:
            return "other values than expected"
        return f"not as expected: {' '.join(' '.join(lines[:4]).split())}"
    return f"{type(error).__name__}: {lines[0]}"


def listed(found: Outcomes, head: str = HEAD) -> str:
    """The text of LIST, or of VARIANT_LIST with its head."""
    passed, total = collections.Counter(), collections.Counter()
    groups = collections.defaultdict(list)
    for key, error in found.items():
        kind = key.split("/")[0]
        total[kind] += 1
        if error is None:
            passed[kind] += 1
        else:
            groups[reason(error)].append(key)
    text = f"{head}# onnx {importlib.metadata.version('onnx')}\n"
    for kind in total:
        text += f"# {kind}: {passed[kind]} of {total[kind]} pass\n"
    for why, keys in sorted(
        groups.items(), key=lambda one: (-len(one[1]), one[0])
    ):
        text += f"\n{why}\n"
        text += "".join(f"  {key}\n" for key in sorted(keys))
    return text


def parsed(text: str) -> dict[str, str]:
    """The reason of each test in the text of LIST."""
    reasons, why = {}, ""
    for line in text.splitlines():
        if line.startswith("  "):
            reasons[line.strip()] = why
        elif line and not line.startswith("#"):
            why = line
    return reasons


def compare(old: dict[str, str], new: dict[str, str]) -> str:
    """The differences as text, "" for none."""
    lines = [
        f"passes now: {key} ({old[key]})"
        for key in sorted(old.keys() - new.keys())
    ]
    lines += [
        f"does not pass: {key} ({new[key]})"
        for key in sorted(new.keys() - old.keys())
    ]
    lines += [
        f"another reason: {key} ({new[key]}), before: {old[key]}"
        for key in sorted(old.keys() & new.keys())
        if old[key] != new[key]
    ]
    return "\n".join(lines)


def update(path: pathlib.Path, text: str, write: bool) -> None:
    """Print the changes of a list and the counts; optionally rewrite it."""
    before = parsed(path.read_text(encoding="utf-8")) if path.exists() else {}
    print(compare(before, parsed(text)) or f"{path.name} is up to date")
    print(
        "\n".join(line for line in text.splitlines() if line.endswith(" pass"))
    )
    if write:
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the suite; print the changes and the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help=f"rewrite {LIST.name}"
    )
    arguments = parser.parse_args()
    plain = outcomes()
    update(LIST, listed(plain), arguments.write)
    variants = variant_outcomes(plain)
    if wrong(variants):
        sys.exit("other values than expected:\n" + "\n".join(wrong(variants)))
    update(VARIANT_LIST, listed(variants, VARIANT_HEAD), arguments.write)


if __name__ == "__main__":
    main()
