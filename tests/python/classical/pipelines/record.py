"""Writes the models beside it: pipelines of scikit-learn for texts, as skl2onnx
converts them, with what scikit-learn predicts. Checks that onnxruntime agrees.

    pip install skl2onnx scikit-learn onnxruntime pandas 'protobuf<6'
    python tests/python/classical/pipelines/record.py
    python tests/python/classical/pipelines/record_tables.py
"""

import json
import pathlib

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from skl2onnx.common.data_types import StringTensorType
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from onnx import helper

TRAINED = [
    "This is the first document.", "This document is the second document.",
    "And this is the third one, über alles.", "Is this the first document?",
    "Cheap pills, cheap watches: buy now", "buy the third Watch, buy it NOW!",
    "meeting at nine, bring the document", "Äpfel und Birnen, cheap",
]  # fmt: skip
LABELS = ["ham"] * 4 + ["spam"] * 2 + ["ham", "spam"]
PREDICTED = [
    *TRAINED, "", "no known word", "!!!", "BUY ÄPFEL", "tab\tand\nnewline document",
    "cheap " * 40, "日本語 the document", "the first first first",
]  # fmt: skip
WORDS = r"[a-zA-Z0-9_]+"  # skl2onnx's default, for any pattern
PIPELINES = {
    "counts": (CountVectorizer(token_pattern=WORDS), LogisticRegression()),
    "pairs": (TfidfVectorizer(ngram_range=(1, 2), token_pattern=WORDS), MultinomialNB()),
    "letters": (TfidfVectorizer(analyzer="char", ngram_range=(2, 3)), LogisticRegression()),
    "stopwords": (
        TfidfVectorizer(stop_words=["is", "the"], token_pattern=WORDS, norm=None),
        LogisticRegression(),
    ),
    "presence": (CountVectorizer(binary=True, token_pattern=WORDS), BernoulliNB()),
}


def record(name, steps):
    pipeline = make_pipeline(*steps).fit(TRAINED, LABELS)
    model = to_onnx(
        pipeline,
        initial_types=[("x", StringTensorType([None, 1]))],
        options={"zipmap": False},
        target_opset=18,
    )
    model.graph.name = name
    probabilities = pipeline.predict_proba(PREDICTED)
    folder = pathlib.Path(__file__).parent
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    for node in model.graph.node:  # a locale that every machine has
        if node.op_type == "StringNormalizer":
            node.attribute.append(helper.make_attribute("locale", "C.UTF-8"))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    labels, other = session.run(None, {"x": np.array(PREDICTED, object)[:, None]})
    assert labels.tolist() == pipeline.predict(PREDICTED).tolist(), name
    np.testing.assert_allclose(other, probabilities, atol=2e-6)
    return {"labels": labels.tolist(), "probabilities": np.round(probabilities, 7).tolist()}


if __name__ == "__main__":
    known = {name: record(name, steps) for name, steps in PIPELINES.items()}
    path = pathlib.Path(__file__).with_name("predicted.json")
    path.write_text(json.dumps({"texts": PREDICTED, **known}, ensure_ascii=False, indent=0) + "\n")
