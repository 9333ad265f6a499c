"""Compares sl.layers.einsum with NumPy. tests/operators/contraction/einsum_test.cc
also tests its errors."""

import numpy as np
import pytest
import refusals

import sluice as sl

LETTERS = "abcdE"
SIZES = dict(zip(LETTERS, (2, 3, 1, 4, 2), strict=True))


def computed(exe, equation, arrays, known=True):
    """The result of the equation, and the gradients of its sum."""
    inputs = []
    for i, array in enumerate(arrays):
        shape = array.shape if known else [None] * array.ndim
        inputs.append(sl.data(f"x{i}", shape, array.dtype.name))
        inputs[-1].stop_gradient = False
    y = sl.layers.einsum(equation, *inputs)
    feed = {x.name: array for x, array in zip(inputs, arrays, strict=True)}
    if arrays[0].dtype.kind != "f":
        return exe.run(feed=feed, fetch_list=[y])
    loss = sl.layers.reduce_sum(sl.layers.square(y))
    made = sl.append_backward(loss, parameter_list=inputs)
    return exe.run(feed=feed, fetch_list=[y, *(grad for _, grad in made)])


def drawn_term(rng, most_dots):
    """A term and a shape: up to three letters, repeated ones among them, and up
    to two dims of "...", some of size 1."""
    letters = list(rng.choice(list(LETTERS), rng.integers(0, 4)))
    shape = [SIZES[letter] for letter in letters]
    if most_dots is None:
        return "".join(letters), shape
    at = int(rng.integers(0, len(letters) + 1))
    dots = [int(n) if rng.random() < 0.7 else 1 for n in (3, 2)]
    count = int(rng.integers(0, most_dots + 1))
    shape[at:at] = dots[len(dots) - count :]
    return "".join([*letters[:at], "...", *letters[at:]]), shape


def drawn_equation(rng):
    has_dots = rng.random() < 0.4
    count = int(rng.integers(1, 4))
    terms = [drawn_term(rng, 2 if has_dots else None) for _ in range(count)]
    equation = ",".join(term for term, _ in terms)
    if rng.random() < 0.7:
        known = sorted(set(equation) - set(".,"))
        kept = [letter for letter in known if rng.random() < 0.5]
        right = [*rng.permutation(kept), *(["..."] if has_dots else [])]
        equation += "->" + "".join(map(str, rng.permutation(right)))
    return equation, [shape for _, shape in terms]


@pytest.mark.parametrize("seed", range(120))
def test_drawn_equations_give_what_numpy_gives(exe, seed):
    rng = np.random.default_rng(seed)
    equation, shapes = drawn_equation(rng)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    y, *grads = computed(exe, equation, arrays)
    expected = np.einsum(equation, *arrays)
    assert y.shape == expected.shape, equation
    np.testing.assert_allclose(
        y, expected, rtol=1e-9, atol=1e-12, err_msg=equation
    )
    # A directional derivative by a central difference.
    ways = [rng.standard_normal(shape) for shape in shapes]
    step = 1e-5

    def loss(size):
        moved = [x + size * way for x, way in zip(arrays, ways, strict=True)]
        return np.square(np.einsum(equation, *moved)).sum()

    slope = (loss(step) - loss(-step)) / (2 * step)
    got = sum((g * way).sum() for g, way in zip(grads, ways, strict=True))
    np.testing.assert_allclose(
        got, slope, rtol=1e-5, atol=1e-6, err_msg=equation
    )


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("ij,jk->ik", [(1, 3), (3, 1)]),
        ("ij,jk->ik", [(2, 0), (0, 3)]),
        ("ij,jk->ik", [(0, 2), (2, 3)]),
        ("i,i->", [(0,), (0,)]),
        ("ii->i", [(0, 0)]),
        ("...ij , ...jk -> ...ik", [(2, 1, 3, 4), (5, 4, 6)]),
        ("ij,jk->ik", [(2, 1), (3, 4)]),
        ("i,j->ij", [(1,), (3,)]),
        (",", [(), ()]),
        ("->", [()]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_einsum(exe, rng, equation, shapes, dtype):
    arrays = [rng.integers(-5, 6, shape).astype(dtype) for shape in shapes]
    y = computed(exe, equation, arrays)[0]
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, np.einsum(equation, *arrays))


def test_sizes_may_come_late(exe, rng):
    for equation, shapes in [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("abc,cde->ebad", [(2, 3, 4), (4, 5, 6)]),
        ("...i,...i->...", [(2, 3, 4), (3, 4)]),
        ("ij,ij", [(2, 3), (2, 3)]),
    ]:
        with sl.program_guard(sl.Program(), sl.Program()):
            arrays = [rng.standard_normal(shape) for shape in shapes]
            y, *_ = computed(exe, equation, arrays, known=False)
        np.testing.assert_allclose(y, np.einsum(equation, *arrays), rtol=1e-9)


def test_nan_stays_where_it_counts(exe):
    x = np.array([[np.nan, 1], [2, 3]])
    np.testing.assert_array_equal(
        computed(exe, "ij,j->i", [x, np.ones(2)])[0], [np.nan, 5]
    )


def other():
    with sl.program_guard(sl.Program(), sl.Program()):
        return sl.data("b", [2, 3])


test_wrong_equations_and_operands_are_named = refusals.rows(
    [
        (lambda a, b: sl.layers.einsum("ij,jk->ik", a, b),
         "j is 3 in the term ij, and 4 in the term jk"),
        (lambda a, b: sl.layers.einsum("ijk->i", a),
         "in the term ijk is 3, that of dims"),
        (lambda a, b: sl.layers.einsum("ij"),
         "einsum: expected an operand for each term"),
        (lambda a, b: sl.layers.einsum("ij", "a"),
         "einsum: operand 0: expected a variable, got 'a'"),
        (lambda a, b: sl.layers.einsum(3, None),
         "einsum: operand 0: expected a variable, got None"),
        (lambda a, b: sl.layers.einsum(None, a), "einsum: equation"),
        (lambda a, b: sl.layers.einsum("ij,ij", a, other()),
         "operand 1", "another program"),
    ],
    given=lambda: (sl.data("a", [2, 3]), sl.data("b", [4, 5])),
)  # fmt: skip


def test_a_wrong_equation_appends_no_op():
    with pytest.raises(sl.InvalidArgumentError):
        sl.layers.einsum("ij,jk", sl.data("a", [2, 3]), sl.data("b", [4, 5]))
    assert not sl.default_main_program().ops
