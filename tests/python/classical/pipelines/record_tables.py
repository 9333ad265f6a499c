"""Writes models of tables with columns of strings and numbers, some of which are
missing, as record.py does of texts."""

import json
import pathlib

import numpy as np
import onnxruntime
import pandas
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (
    ExtraTreesRegressor, GradientBoostingClassifier, HistGradientBoostingClassifier,
    IsolationForest, RandomForestClassifier, StackingClassifier, VotingClassifier,
)  # fmt: skip
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, PolynomialFeatures,
    PowerTransformer, QuantileTransformer, RobustScaler, StandardScaler, TargetEncoder,
)  # fmt: skip
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from onnx import helper

TEXTS, NUMBERS = ["city", "plan"], ["age", "income", "visits"]
TYPES = [
    *((name, StringTensorType([None, 1])) for name in TEXTS),
    *((name, FloatTensorType([None, 1])) for name in NUMBERS[:2]),
    ("visits", Int64TensorType([None, 1])),
]
ROWS = 16  # that are predicted


def people(count=60):
    """A table, three classes and a number, all of which float32 has."""
    random = np.random.default_rng(5)

    def with_gaps(values):
        values = np.round(values * 16) / 16
        return np.where(random.random(count) < 0.1, np.nan, values).astype("float32")

    table = pandas.DataFrame(
        {
            "city": random.choice(np.array(["Zürich", "Lyon", "", "東京"], object), count),
            "plan": random.choice(np.array(["free", "pro", "team"], object), count),
            "age": with_gaps(random.uniform(18, 80, count)),
            "income": with_gaps(random.lognormal(3, 1, count)),
            "visits": random.integers(0, 9, count),
        }
    ).astype({name: object for name in TEXTS})
    score = 2 * (table["plan"] == "pro") + table["age"].fillna(0) / 40 - table["visits"] / 4
    score = score.to_numpy() + random.normal(0, 0.3, count)
    return table, np.array(["left", "stays", "über"], object)[np.digitize(score, [0.5, 1.5])], score


def columns(texts=None, numbers=None, **arguments):
    texts = texts or OneHotEncoder(handle_unknown="ignore")
    numbers = numbers or make_pipeline(SimpleImputer(), StandardScaler())
    return ColumnTransformer(
        [("texts", texts, TEXTS), ("numbers", numbers, NUMBERS)], **arguments
    )


def ordinal():
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)


def median(*steps):
    return make_pipeline(SimpleImputer(strategy="median"), *steps)


seeded = {"random_state": 1}
trees = {"n_estimators": 5, "random_state": 1}
voters = [
    ("linear", LogisticRegression()),
    ("tree", DecisionTreeClassifier(max_depth=3, **seeded)),
    ("bayes", GaussianNB()),
]
in_columns = ColumnTransformer([
    ("letters", TfidfVectorizer(analyzer="char", ngram_range=(1, 2)), "city"),
    ("plan", OneHotEncoder(drop="first"), ["plan"]),
    ("age", KNNImputer(), ["age", "income"]),
], remainder="passthrough")  # fmt: skip
# The steps, and options of the conversion. The target is the class if the last
# step is a classifier, else the number.
PIPELINES = {
    "forest": ([columns(), RandomForestClassifier(max_depth=4, **trees)], {}),
    "boosted": ([columns(ordinal()), GradientBoostingClassifier(**trees)], {"zipmap": False}),
    "histograms": (
        [columns(ordinal(), "passthrough"), HistGradientBoostingClassifier(max_iter=5, max_depth=3)], {},
    ),
    "polynomials": (
        [columns(numbers=median(StandardScaler(), PolynomialFeatures(2))), LogisticRegression()], {},
    ),
    "vectors": ([columns(numbers=median(RobustScaler())), SVC(probability=True, **seeded)], {}),
    "neighbours": ([columns(), KNeighborsClassifier(3)], {}),
    "bins": (
        [
            columns(numbers=median(KBinsDiscretizer(4, encode="onehot-dense"))),
            MLPClassifier((8,), max_iter=60, **seeded),
        ],
        {"zipmap": "columns"},
    ),
    "margins": ([columns(), LinearSVC()], {"nocl": False}),
    "bayes": ([columns(sparse_threshold=0), PCA(3), GaussianNB()], {"zipmap": False}),
    "votes": ([columns(sparse_threshold=0), VotingClassifier(
        voters, voting="soft", weights=np.array([1, 2, 1]), flatten_transform=False)], {}),
    "stacked": ([columns(sparse_threshold=0), StackingClassifier(voters, cv=3)], {"zipmap": False}),
    "calibrated": ([columns(), CalibratedClassifierCV(LinearSVC(), cv=3)], {}),
    "path": ([columns(), DecisionTreeClassifier(max_depth=3)], {"zipmap": False, "decision_path": True}),
    "letters_of_a_column": ([in_columns, LogisticRegression()], {}),
    "ridge": ([columns(TargetEncoder(**seeded), median(PowerTransformer())), TruncatedSVD(4, **seeded), Ridge()], {}),
    "extra_trees": (
        [columns(ordinal(), median(QuantileTransformer(n_quantiles=9))), ExtraTreesRegressor(max_depth=4, **trees)],
        {},
    ),
    "clusters": ([columns(numbers=median(FunctionTransformer(), StandardScaler())), KMeans(3, n_init=2, **seeded)], {}),
    "isolation": ([columns(sparse_threshold=0), IsolationForest(max_samples=16, **trees)], {}),
    "encoded": ([columns(sparse_threshold=0)], {}),
}  # fmt: skip


def expected(pipeline, rows, options):
    """What scikit-learn has for each output of the model."""
    last = pipeline.steps[-1][1]
    if not hasattr(last, "predict"):
        return [pipeline.transform(rows)]
    labels = pipeline.predict(rows)
    if isinstance(last, IsolationForest):
        return [labels[:, None], pipeline.decision_function(rows)[:, None]]
    if isinstance(last, KMeans):
        return [labels, pipeline.transform(rows)]
    if isinstance(last, LinearSVC):
        return [labels, pipeline.decision_function(rows)]
    if not hasattr(last, "predict_proba"):
        return [labels[:, None]]
    scores = pipeline.predict_proba(rows)
    zipped = options.get("zipmap", True)
    if zipped == "columns":
        return [labels, *scores.T]
    if zipped:
        return [labels, [dict(zip(last.classes_.tolist(), row, strict=True)) for row in scores]]
    if "decision_path" in options:
        path = last.decision_path(pipeline[:-1].transform(rows)).toarray()
        return [labels, scores, np.array([["".join(map(str, row))] for row in path], object)]
    return [labels, scores]


def compare(got, want, name):
    if isinstance(want, list):
        assert [list(row) for row in got] == [list(row) for row in want], name
        got, want = ([list(row.values()) for row in rows] for rows in (got, want))
    elif want.dtype.kind in "OU":
        assert got.tolist() == want.tolist(), name
        return
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6, err_msg=name)


def plain(value):
    """A value for JSON, of 7 digits."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, list | np.ndarray):
        return [plain(v) for v in value]
    return float(f"{value:.7g}") if isinstance(value, float | np.floating) else value


def record(name, steps, options):
    table, classes, score = people()
    target = score if name in ("ridge", "extra_trees") else classes
    pipeline = make_pipeline(*steps).fit(table, target)
    options = {id(pipeline.steps[-1][1]): options} if options else None
    model = to_onnx(pipeline, initial_types=TYPES, options=options, target_opset={"": 18, "ai.onnx.ml": 3})
    model.graph.name = name
    folder = pathlib.Path(__file__).parent
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    rows = table[:ROWS].copy()
    rows.loc[0, "city"] = "unknown"
    want = expected(pipeline, rows, PIPELINES[name][1])
    for node in model.graph.node:  # a locale that every machine has
        if node.op_type == "StringNormalizer":
            node.attribute.append(helper.make_attribute("locale", "C.UTF-8"))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feed = {v.name: rows[[v.name]].to_numpy() for v in session.get_inputs()}
    results = session.run(None, feed)
    assert len(results) == len(want), name
    for got, one in zip(results, want, strict=True):
        compare(got, one, name)
    return [plain(value.tolist() if hasattr(value, "tolist") else value) for value in want]


if __name__ == "__main__":
    answers = {name: record(name, *rest) for name, rest in PIPELINES.items()}
    rows = people()[0][:ROWS]
    rows.loc[0, "city"] = "unknown"
    table = {
        name: [None if value != value else value for value in rows[name].tolist()] for name in rows
    }
    path = pathlib.Path(__file__).with_name("tables.json")
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in [("rows", table), *answers.items()]
    )
    path.write_text(f"{{{lines}}}\n")
