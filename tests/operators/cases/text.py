"""Strings in numbers, of at most 6 bytes here: numbers go as float64."""

import re

import numpy as np

from .case import Tensor, case


def number(text):
    return int.from_bytes(text.encode(), "big")


def text(number):
    return int(number).to_bytes(7, "big").lstrip(b"\0").decode()


def texts(make, dims, letters, longest):
    """Random strings of these letters."""
    count = int(np.prod(dims))
    words = [
        "".join(
            letters[make.integer(0, len(letters) - 1)]
            for _ in range(make.integer(0, longest))
        )
        for _ in range(count)
    ]
    return Tensor(np.array([number(w) for w in words]).reshape(dims), "int64")


def each(function, x):
    out = [function(text(n)) for n in x.ravel()]
    return np.array(out).reshape(x.shape)


def rows(function, x, pad=""):
    """The strings that the function makes of each, and how many."""
    parts = [[number(part) for part in function(text(n))] for n in x.ravel()]
    longest = max(map(len, parts), default=0)
    out = [part + [number(pad)] * (longest - len(part)) for part in parts]
    counts = np.array([len(part) for part in parts]).reshape(x.shape)
    return np.reshape(out, (*x.shape, longest)), counts


def pairs(make):
    for x, y in ([3, 5], [5]), ([1], [2, 1]), ([0, 3], [3]), ([301], [1]):
        yield {"X": texts(make, x, "abc", 3), "Y": texts(make, y, "xyß", 1)}


@case("string_concat", pairs)
def string_concat(x, y):
    join = np.vectorize(lambda a, b: number(text(a) + text(b)), otypes=[int])
    return join(x, y)


def words(make):
    for i, dims in enumerate([[7], [1, 9], [1], [0], [1, 0], [501]]):
        yield {
            "X": texts(make, dims, "aAbBäÄß", 2),
            "stopwords": [] if i == 5 else ["a", "bB", "Ä"],
            "case_sensitive": i % 2 == 1,
            "change_case": ["lower", "none", "upper"][i % 3],
        }


@case("string_normalize", words)
def string_normalize(x, stopwords, case_sensitive, change_case):
    def upper(word):  # ß has no upper case of one code point
        return "".join(c if len(c.upper()) > 1 else c.upper() for c in word)

    change = {"lower": str.lower, "upper": upper, "none": str}[change_case]
    key = str if case_sensitive else str.lower
    stop = {key(word) for word in stopwords}
    left = [text(n) for n in x.ravel()]
    left = [change(word) for word in left if key(word) not in stop] or [""]
    return np.reshape([number(w) for w in left], (*x.shape[:-1], len(left)))


def lines(make):
    for i, dims in enumerate([[3, 5], [1], [0, 3], [501], [2, 1]]):
        yield {
            "X": texts(make, dims, "ab- \t", 6),
            "delimiter": ["", "-", "a"][i % 3],
            "maxsplit": [-1, 1, 0, 2][i % 4],
        }


@case("string_split", lines)
def string_split(x, delimiter, maxsplit):
    def parts(line):  # str.split keeps white space at the end, after maxsplit
        return (line if delimiter else line.strip()).split(delimiter or None, maxsplit)

    out, counts = rows(parts, x)
    return {"Out": out, "Counts": counts}


def matched(make):
    for dims in [3, 5], [1], [0, 2], [501]:
        yield {"X": texts(make, dims, "aä", 2), "pattern": "aä"}


@case("regex_full_match", matched)
def regex_full_match(x, pattern):
    return each(lambda t: t == pattern, x)


def sentences(make):
    for i, dims in enumerate([[3, 5], [1], [0], [501], [1, 3]]):
        how = [{"pattern": "ab"}, {"separators": ["-", "b "]}]
        how += [{"pattern": "."}, {"separators": [""]}]
        yield {
            "X": texts(make, dims, "abä-. " if i % 2 else "ab-. ", 3 * (2 - i % 2)),
            "min_length": 2 - i % 2 if i % 4 < 2 else 1,
            "mark": i % 2 == 1,
            "pad": "#",
            **how[i % 4],
        }


@case("tokenize", sentences)
def tokenize(x, pattern, separators, min_length, mark, pad):
    def tokens(line):
        if pattern == "." or separators == [""]:
            return list(line)
        if pattern:
            return [pattern] * line.count(pattern)
        return re.split("|".join(separators), line)

    def long(line):
        return [t for t in tokens(line) if len(t) >= min_length]

    out, counts = rows(long, x, pad)
    if mark and counts.any():
        out, _ = rows(lambda t: ["\2", *long(t), "\3"], x, pad)
    return out


def documents(make):
    pool = [1, 2, 4, 1, 2, 2, 2, 3, 1, 1, 2, 3]
    for i, dims in enumerate([[3, 7], [9], [1, 1], [0, 5], [2, 0], [301, 40]]):
        lengths = [(1, 1), (1, 3), (2, 3)][i % 3]
        weights = {"Weights": make.integers("float32", [9], -3, 3)}
        yield {
            "X": make.integers("int64", dims, 1, 4),
            "Pool": Tensor(np.array(pool), "int64"),
            "Columns": Tensor(np.array([8, 0, 2, 1, 4, 4, 7]), "int64"),
            "starts": [0, 3, 9],
            "min_length": lengths[0],
            "max_length": lengths[1],
            "max_skips": i % 4,
            "num_columns": 9,
            "binary": i % 2 == 1,
            **(weights if i % 2 == 0 else {}),
        }


@case("tfidf_vectorize", documents)
def tfidf_vectorize(
    x, pool, columns, weights, starts, min_length, max_length, max_skips,
    num_columns, binary,
):
    grams = []
    for n, (begin, end) in enumerate(zip(starts, [*starts[1:], len(pool)]), 1):
        grams += [tuple(pool[i : i + n]) for i in range(begin, end, n)]
    column = dict(reversed(list(zip(grams, columns, strict=True))))
    out = np.zeros((*x.shape[:-1], num_columns))
    for row, counts in zip(np.atleast_2d(x), np.atleast_2d(out)):
        for n in range(min_length, max_length + 1):
            for step in range(1, 2 if n == 1 else max_skips + 2):
                for i in range(len(row) - (n - 1) * step):
                    gram = tuple(row[i : i + n * step : step])
                    if gram in column:
                        counts[column[gram]] += 1
    out = np.minimum(out, 1) if binary else out
    return out if weights is None else out * weights
