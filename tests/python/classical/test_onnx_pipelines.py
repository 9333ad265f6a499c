"""Pipelines of scikit-learn, which skl2onnx converted (pipelines/record.py)."""

import json
import pathlib

import numpy as np
import pytest

pytest.importorskip("onnx")

import sluice as sl  # noqa: E402
import sluice.onnxruntime as ort  # noqa: E402

FOLDER = pathlib.Path(__file__).parent / "pipelines"
OF_TEXTS = json.loads((FOLDER / "predicted.json").read_text())
TEXTS = np.array(OF_TEXTS.pop("texts"), object)[:, None]
OF_TABLES = json.loads((FOLDER / "tables.json").read_text())
ROWS = OF_TABLES.pop("rows")
DTYPES = {"tensor(string)": object, "tensor(float)": np.float32, "tensor(int64)": np.int64}


@pytest.mark.parametrize("name", OF_TEXTS)
def test_pipelines_of_texts(name):
    labels, probabilities = sl.onnx.load(FOLDER / f"{name}.onnx").run({"x": TEXTS})
    assert labels.tolist() == OF_TEXTS[name]["labels"]
    np.testing.assert_allclose(probabilities, OF_TEXTS[name]["probabilities"], atol=2e-6)
    for x in TEXTS, TEXTS[:1]:
        session = ort.InferenceSession(str(FOLDER / f"{name}.onnx"))
        assert session.run(["label"], {"x": x})[0].tolist() == labels[: len(x)].tolist()


@pytest.mark.parametrize("count", [1, len(ROWS["city"])])
@pytest.mark.parametrize("name", OF_TABLES)
def test_pipelines_of_tables(name, count):
    session = ort.InferenceSession(str(FOLDER / f"{name}.onnx"))
    columns = session.get_inputs()
    feed = {v.name: np.array(ROWS[v.name][:count], DTYPES[v.type])[:, None] for v in columns}
    results = session.run(None, feed)
    for got, want in zip(results, OF_TABLES[name], strict=True):
        want = want[:count]
        if isinstance(want[0], dict):  # by ZipMap
            assert [list(row) for row in got] == [list(row) for row in want]
            got, want = ([list(row.values()) for row in rows] for rows in (got, want))
        if isinstance(np.ravel(want)[0], str):
            assert got.tolist() == want
        else:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)
