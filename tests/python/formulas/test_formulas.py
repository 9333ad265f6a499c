"""Element-wise formulas over the whole range of numbers: none overflows,
cancels or multiplies 0 by infinity where inputs and result are ordinary.

References use other formulas than the kernels.
"""

import math

import numpy as np
import pytest
from far_numbers import (
    DTYPES, LONG, check, few_numbers, grid, is_normal, long, numbers, results,
)

from sluice.layers import ops

PI = LONG("3.14159265358979323846264338327950288")
SQRT_HALF = np.sqrt(LONG(0.5))


def each(function):
    """Applies a function of the standard library to each element."""
    return np.frompyfunc(function, 1, 1)


def erf(x):
    return long(each(math.erf)(x.astype("float64")).astype("float64"))


def erfc(x):
    return long(each(math.erfc)(x.astype("float64")).astype("float64"))


def logistic(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    # erfc has the digits that 1 + erf loses.
    return x / 2 * erfc(-x * SQRT_HALF)


def gelu_slope(x):
    bell = np.exp(-x * x / 2) / np.sqrt(2 * PI)
    return erfc(-x * SQRT_HALF) / 2 + np.where(bell == 0, 0, x * bell)


def inner(x):
    return np.sqrt(2 / PI) * (x + LONG(0.044715) * x**3)


def tanh_gelu(x):
    return x * logistic(2 * inner(x))


def tanh_gelu_slope(x):
    s, t = logistic(2 * inner(x)), logistic(-2 * inner(x))
    slope = 2 * np.sqrt(2 / PI) * (1 + 3 * LONG(0.044715) * x * x)
    return s + np.where(t * s == 0, 0, x * slope * t * s)


def tanh_of_softplus(x):
    return np.tanh(np.log1p(np.exp(np.minimum(x, 5000))))


def mish_slope(x):
    t = tanh_of_softplus(x)
    # 1 - t^2 = 1 / cosh(softplus)^2.
    rest = 1 / np.cosh(np.log1p(np.exp(np.minimum(x, 5000)))) ** 2
    return t + np.where(rest == 0, 0, x * rest) * logistic(x)


def swish_slope(x, beta=LONG(1)):
    s, t = logistic(beta * x), logistic(-beta * x)
    return s + np.where(s * t == 0, 0, beta * x * s * t)


def log_logistic(x):
    return -np.logaddexp(0, -x)


def root_of_square_less_one(x):
    return np.sqrt(x - 1) * np.sqrt(x + 1)


def by_sign(negative, positive=lambda x: x):
    return lambda x: np.where(x > 0, positive(x), negative(np.minimum(x, 0)))


ANYWHERE = (-np.inf, np.inf)
SELU = LONG("1.0507009873554804934193349852946")
SELU_ALPHA = LONG("1.6732632423543772848170429916717")
# op: the function, its derivative, the range of both, and attributes. `None`:
# the derivative is tested as a function of Out, or has steps.
UNARY = [
    ("abs", np.abs, np.sign, ANYWHERE, {}),
    ("neg", np.negative, lambda x: 0 * x - 1, ANYWHERE, {}),
    ("square", lambda x: x * x, lambda x: 2 * x, ANYWHERE, {}),
    ("reciprocal", lambda x: 1 / x, lambda x: -1 / (x * x), ANYWHERE, {}),
    ("sqrt", np.sqrt, lambda x: 1 / (2 * np.sqrt(x)), (0, np.inf), {}),
    ("rsqrt", lambda x: 1 / np.sqrt(x), lambda x: -0.5 / (x * np.sqrt(x)),
     (0, np.inf), {}),
    ("exp", np.exp, np.exp, ANYWHERE, {}),
    ("expm1", np.expm1, np.exp, ANYWHERE, {}),
    ("log", np.log, lambda x: 1 / x, (0, np.inf), {}),
    ("log1p", np.log1p, lambda x: 1 / (1 + x), (-1, np.inf), {}),
    ("sigmoid", logistic, None, ANYWHERE, {}),
    ("tanh", np.tanh, None, ANYWHERE, {}),
    ("logsigmoid", log_logistic, lambda x: logistic(-x), ANYWHERE, {}),
    ("softplus", lambda x: np.logaddexp(0, x), logistic, ANYWHERE, {}),
    ("softsign", lambda x: x / (1 + np.abs(x)),
     lambda x: 1 / (1 + np.abs(x)) ** 2, ANYWHERE, {}),
    ("erf", erf, lambda x: 2 / np.sqrt(PI) * np.exp(-x * x), ANYWHERE, {}),
    ("sin", np.sin, np.cos, (-1e5, 1e5), {}),
    ("cos", np.cos, lambda x: -np.sin(x), (-1e5, 1e5), {}),
    ("tan", np.tan, lambda x: 1 / np.cos(x) ** 2, (-1e5, 1e5), {}),
    ("asin", np.arcsin, lambda x: 1 / np.sqrt((1 - x) * (1 + x)), (-1, 1), {}),
    ("acos", np.arccos, lambda x: -1 / np.sqrt((1 - x) * (1 + x)), (-1, 1), {}),
    ("atan", np.arctan, lambda x: 1 / (1 + x * x), ANYWHERE, {}),
    ("sinh", np.sinh, np.cosh, ANYWHERE, {}),
    ("cosh", np.cosh, np.sinh, ANYWHERE, {}),
    ("asinh", np.arcsinh, lambda x: 1 / np.hypot(x, LONG(1)), ANYWHERE, {}),
    ("acosh", np.arccosh, lambda x: 1 / root_of_square_less_one(x), (1, np.inf),
     {}),
    ("atanh", np.arctanh, lambda x: 1 / ((1 - x) * (1 + x)), (-1, 1), {}),
    ("leaky_relu", by_sign(lambda x: 0.25 * x), None, ANYWHERE, {"alpha": 0.25}),
    ("elu", by_sign(np.expm1), by_sign(np.exp, np.ones_like), ANYWHERE, {}),
    ("elu", by_sign(lambda x: 2 * np.expm1(x)),
     by_sign(lambda x: 2 * np.exp(x), np.ones_like), ANYWHERE, {"alpha": 2.0}),
    ("selu", by_sign(lambda x: SELU * SELU_ALPHA * np.expm1(x), lambda x: SELU * x),
     by_sign(lambda x: SELU * SELU_ALPHA * np.exp(x), lambda x: SELU + 0 * x),
     ANYWHERE, {}),
    ("celu", by_sign(lambda x: 0.5 * np.expm1(2 * x)),
     by_sign(lambda x: np.exp(2 * x), np.ones_like), ANYWHERE, {"alpha": 0.5}),
    ("hard_swish", lambda x: x * np.clip(x + 3, 0, 6) / 6,
     lambda x: np.where(x <= -3, 0, np.where(x < 3, (2 * x + 3) / 6, 1)), ANYWHERE, {}),
    ("swish", lambda x: x * logistic(x), swish_slope, ANYWHERE, {}),
    ("swish", lambda x: x * logistic(16 * x),
     lambda x: swish_slope(x, LONG(16)), ANYWHERE, {"beta": 16.0}),
    ("mish", lambda x: x * tanh_of_softplus(x), mish_slope, ANYWHERE, {}),
    ("gelu", gelu, gelu_slope, ANYWHERE, {}),
    ("gelu", tanh_gelu, tanh_gelu_slope, ANYWHERE, {"approximate": True}),
]  # fmt: skip
IDS = [f"{row[0]}{list(row[4]) or ''}" for row in UNARY]
# Their slopes fall like e^-x. As a denormal number, such a factor has lost
# digits, for any Out@GRAD.
FALLING = {
    "exp", "logsigmoid", "softplus", "swish", "mish", "gelu",
}  # fmt: skip
# The error of x * x in e^(x * x) grows with x.
SLACK = {"gelu": 30, "erf": 10, "swish": 3, "mish": 3}


def inside(domain, dtype):
    x = numbers(dtype)
    return x[(x >= domain[0]) & (x <= domain[1])]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", UNARY, ids=IDS)
def test_functions(row, dtype):
    op, function, _, domain, attrs = row
    x = inside(domain, dtype)
    with np.errstate(all="ignore"):
        want = function(long(x))
    for what, got in results(op, {"X": x}, attrs):
        check(what, got["Out"], want, dtype, [x], SLACK.get(op, 1))


COTANGENTS = (1, -1e-20, 1e20, 1e-35)
# Points where slopes cancel, or leave the range of float32 or float64.
STEEP = (-89.5, 89, 95, 120, 150, 700, 720, 750, -1.5 - 1e-6, -1.5 + 1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", [r for r in UNARY if r[2]], ids=[
    name for name, r in zip(IDS, UNARY) if r[2]])  # fmt: skip
def test_derivatives(row, dtype):
    op, function, derivative, domain, attrs = row
    x = np.array([x for x in STEEP if domain[0] <= x <= domain[1]], dtype)
    x = np.concatenate([inside(domain, dtype), x])
    x, grad = grid(x, np.array(COTANGENTS, dtype))
    with np.errstate(all="ignore"):
        slope = derivative(long(x))
        want = long(grad) * slope
        out = function(long(x)).astype(dtype)
    # Some slopes at 0 and 1 are infinite.
    where = np.isfinite(slope)
    if op in FALLING:
        where &= is_normal(slope, dtype) | (slope == 0)
    inputs = {"Out@GRAD": grad}
    names = {a["name"] for a in ops.schema(f"{op}_grad")["inputs"]}
    seen = "X" if "X" in names else "Out"
    if seen == "Out":
        where &= np.isfinite(out)
    inputs = {seen: x if seen == "X" else out, **inputs}
    for what, got in results(f"{op}_grad", inputs, attrs):
        check(what, got["X@GRAD"], want, dtype, [x, grad], SLACK.get(op, 1), where)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["erf", "mish"])
def test_digits_of_derivatives_far_from_0(op, dtype):
    """Derivatives are right within 10 units in the last place."""
    (derivative,) = [row[2] for row in UNARY if row[0] == op]
    x = np.linspace(2, 9 if dtype == "float32" else 25, 400).astype(dtype)
    want = derivative(long(x))
    units = long(np.spacing(want.astype(dtype)))
    for what, got in results(f"{op}_grad", {"X": x, "Out@GRAD": np.ones_like(x)}):
        error = np.abs(long(got["X@GRAD"]) - want) / units
        assert error.max() < 10, f"{what}: {error.max()} units at {x[error.argmax()]}"


def floor_mod(x, y):
    rest = np.fmod(x, y)
    return np.where(rest * np.sign(y) < 0, rest + y, rest)


def power(x, y):
    # longdouble's own power loses digits for exponents of 1e10.
    size = np.abs(x)
    whole = np.floor(y) == y
    odd = whole & (np.fmod(y, 2) != 0)
    value = np.where(y == 0, 1, np.exp(y * np.log(size)))
    value = np.where(size == 1, 1, value)
    value = np.where(size == 0, np.where(y > 0, 0, np.where(y == 0, 1, np.inf)), value)
    return np.where((x < 0) & odd, -value, np.where((x < 0) & ~whole, np.nan, value))


def x_of_power(x, y):
    # Not the parity of y - 1, which longdouble also rounds.
    even = np.fmod(y, 2) == 0
    size = np.where(np.isnan(power(x, y)), np.nan, power(np.abs(x), y - 1))
    return np.where(y == 0, 0, y * np.where((x < 0) & even, -size, size))


def y_of_power(x, y):
    slope = power(x, y) * np.log(x)
    return np.where((x == 0) & (y >= 0), 0, slope)


def of_squares(a, x, y):
    square = x * x + y * y
    return np.where(square == 0, 0, a / square)


def whole_part(x, y):
    return np.rint((x - floor_mod(x, y)) / y)


def half(condition, other):
    return np.where(condition, 1, np.where(other, 0, 0.5))


# op: the function, its derivatives for X and Y.
BINARY = {
    "elementwise_add": (np.add, lambda x, y: 1 + 0 * x, lambda x, y: 1 + 0 * x),
    "elementwise_sub": (np.subtract, lambda x, y: 1 + 0 * x,
                        lambda x, y: -1 + 0 * x),
    "elementwise_mul": (np.multiply, lambda x, y: y, lambda x, y: x),
    "elementwise_div": (np.divide, lambda x, y: 1 / y, lambda x, y: -x / y / y),
    "elementwise_max": (np.maximum, lambda x, y: half(x > y, x < y),
                        lambda x, y: half(y > x, y < x)),
    "elementwise_min": (np.minimum, lambda x, y: half(x < y, x > y),
                        lambda x, y: half(y < x, y > x)),
    "elementwise_pow": (power, x_of_power, y_of_power),
    "elementwise_mod": (floor_mod, lambda x, y: 1 + 0 * x,
                        lambda x, y: -whole_part(x, y)),
    "elementwise_fmod": (np.fmod, lambda x, y: 1 + 0 * x,
                         lambda x, y: -np.rint((x - np.fmod(x, y)) / y)),
    "elementwise_floordiv": (whole_part, lambda x, y: 0 * x, lambda x, y: 0 * x),
    "atan2": (np.arctan2, lambda x, y: of_squares(y, x, y),
              lambda x, y: -of_squares(x, x, y)),
    "prelu": (lambda x, y: np.where(x < 0, x * y, x),
              lambda x, y: np.where(x < 0, y, 1),
              lambda x, y: np.where(x < 0, x, 0)),
}  # fmt: skip
BY_ZERO = {
    "elementwise_div", "elementwise_mod", "elementwise_fmod",
    "elementwise_floordiv",
}  # fmt: skip
# Their slopes must be right if they are normal numbers.
BY_SLOPE = {"atan2", "elementwise_pow", "elementwise_mod", "elementwise_fmod"}


def pairs(op, dtype):
    x, y = grid(few_numbers(dtype), few_numbers(dtype))
    if op in BY_ZERO:
        x, y = x[y != 0], y[y != 0]
    return x, y


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", BINARY)
def test_functions_of_two(op, dtype):
    x, y = pairs(op, dtype)
    with np.errstate(all="ignore"):
        want = BINARY[op][0](long(x), long(y))
    for what, got in results(op, {"X": x, "Y": y}):
        check(what, got["Out"], want, dtype, [x, y], 3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", BINARY)
def test_derivatives_of_two(op, dtype):
    x, y = pairs(op, dtype)
    names = [a["name"] for a in ops.schema(f"{op}_grad")["inputs"]]
    with np.errstate(all="ignore"):
        out = BINARY[op][0](long(x), long(y)).astype(dtype)
    for cotangent in (1, 1e-15, -1e15):
        grad = np.full_like(x, cotangent)
        given = {"X": x, "Y": y, "Out": out, "Out@GRAD": grad}
        inputs = {name: given[name] for name in names}
        for what, got in results(f"{op}_grad", inputs, {}, ["X@GRAD", "Y@GRAD"]):
            for name, derivative in zip("XY", BINARY[op][1:]):
                with np.errstate(all="ignore"):
                    slope = derivative(long(x), long(y))
                    want = long(grad) * slope
                where = np.isfinite(slope) & np.isfinite(out)
                if op in BY_SLOPE:
                    where &= is_normal(slope, dtype) | (slope == 0)
                if "Out" in names:  # what Out has lost is lost
                    where &= is_normal(out, dtype) | (slope == 0)
                check(f"{what} {name}", got[f"{name}@GRAD"], want, dtype,
                      [x, y, grad], 10, where)  # fmt: skip


def test_parity_of_a_power_whose_exponent_is_large():
    y = np.array([1e10, 2**24, 2**24 + 2, 2**24 - 1, -(2.0**24), 3, 2], "float32")
    x = np.full_like(y, -1)
    inputs = {"X": x, "Y": y, "Out": np.where(y % 2 == 0, 1, -1).astype("float32")}
    inputs["Out@GRAD"] = np.ones_like(y)
    odd = np.where(y % 2 == 0, -1, 1)
    for what, got in results("elementwise_pow_grad", inputs, {}, ["X@GRAD"]):
        check(what, got["X@GRAD"], long(y) * odd, "float32", [x, y])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("attrs", [{}, {"approximate": True}])
def test_gelu_of_halves(dtype, attrs):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    x = np.array([1e4, -1e4, 6e4, 1, 0], dtype)
    if attrs and dtype != "float16":
        x = np.array([2e13, -2e13, 3e38, 1, 0], dtype)
    slope = (tanh_gelu_slope if attrs else gelu_slope)(long(x.astype("float32")))
    inputs = {"X": x, "Out@GRAD": np.ones_like(x)}
    for what, got in results("gelu_grad", inputs, attrs):
        close = np.abs(long(got["X@GRAD"].astype("float32")) - slope) < 0.01
        assert close.all(), f"{what}: {got['X@GRAD']}, expected {slope}"
