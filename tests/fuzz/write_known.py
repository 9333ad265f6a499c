"""Writes small models of ONNX's backend tests into a folder, for --known:
unchanged, and for single nodes also with all inputs except the first as
initialisers.

    build/venv/bin/python tests/fuzz/write_known.py FOLDER
"""

import copy
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests


def with_constants(case):
    model = copy.deepcopy(case.model)
    values = zip(model.graph.input, case.data_sets[0][0], strict=True)
    for value, array in list(values)[1:]:
        if isinstance(array, TensorProto):
            array = numpy_helper.to_array(array)
        if value.type.HasField("tensor_type"):
            tensor = numpy_helper.from_array(np.asarray(array), value.name)
            model.graph.initializer.append(tensor)
    return model


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    cases = [
        case
        for kind in ("node", "simple", "pytorch-operator", "pytorch-converted")
        for case in load_model_tests(kind=kind)
    ]
    for case in cases:
        if case.model is None:
            models = [onnx.load(pathlib.Path(case.model_dir, "model.onnx"))]
        else:
            models = [case.model]
            if len(case.model.graph.input) > 1 and case.data_sets:
                models.append(with_constants(case))
        for i, model in enumerate(models):
            bytes = model.SerializeToString()
            if len(bytes) < 1 << 16:
                (folder / f"{case.name}-{i}").write_bytes(bytes)


if __name__ == "__main__":
    main()
