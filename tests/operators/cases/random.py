"""Ops that draw numbers, for the first op of a program in a run of step 0."""

import numpy as np

from .case import case
from .creation import OF_KERNEL

SHAPES = [[3, 5], [], [1], [4, 0], [91, 301]]
LONG = np.longdouble
PI = LONG("3.14159265358979323846264338327950288")


def words(seed, elements):
    """The words that are drawn for elements, by the definition of
    Philox4x32-10."""
    low, high, keys = np.uint64(2**32 - 1), np.uint64(32), [seed, seed >> 32]
    blocks = (elements // 4).astype("uint64")
    c = [blocks & low, blocks >> high, 0 * blocks, 0 * blocks]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        first, second = (np.uint64(key % 2**32) for key in keys)
        mixed = (b >> high) ^ c[1] ^ first, (a >> high) ^ c[3] ^ second
        c = [mixed[0], b & low, mixed[1], a & low]
        keys = [keys[0] + 0x9E3779B9, keys[1] + 0xBB67AE85]
    return np.choose(elements % 4, c)


def elements_of(shape):
    return np.arange(int(np.prod(shape)))


def uniforms(make):
    for shape in SHAPES:
        how = {"min": -0.5, "max": 1.0, "seed": -7 << 33}
        yield {"shape": shape, "dtype": OF_KERNEL} | how


@case("uniform_random", uniforms)
def uniform_random(shape, dtype, seed):
    elements = elements_of(shape)
    u = words(seed, elements) / 2**32
    if dtype == "float64":
        u += words(seed, elements + (4 << 47)) // 2**11 * 2.0**-53
    return (-0.5 + 1.5 * u).reshape(shape)


def gaussians(make):
    for shape in SHAPES:
        how = {"mean": 0.25, "std": 0.5, "seed": 11}
        yield {"shape": shape, "dtype": OF_KERNEL} | how


def inside(words):
    """Numbers between 0 and 1 that are neither."""
    return (words + LONG(0.5)) / LONG(2**32)


@case("gaussian_random", gaussians, slack=4)
def gaussian_random(shape):
    elements = elements_of(shape)
    firsts = elements // 2 * 2
    radius = np.sqrt(-2 * np.log(inside(words(11, firsts))))
    angle = 2 * PI * words(11, firsts + 1) / LONG(2**32)
    part = np.where(elements % 2 == 0, np.cos(angle), np.sin(angle))
    return (0.25 + 0.5 * radius * part).reshape(shape)


def half(z):
    """The probability from 0 to z, by the series of erf."""
    total = term = z / np.sqrt(2 * PI)
    for n in range(1, 40):
        term = term * -z * z / (2 * n)
        total = total + term / (2 * n + 1)
    return total


@case("truncated_gaussian_random", gaussians, slack=4)
def truncated_gaussian_random(shape):
    """The quantile by Newton's steps, which approach it from 0."""
    u = inside(words(11, elements_of(shape)))
    wanted, z = (2 * u - 1) * half(LONG(2)), 0 * u
    for _ in range(10):
        z = z + (wanted - half(z)) * np.sqrt(2 * PI) * np.exp(z * z / 2)
    return (0.25 + 0.5 * z).reshape(shape)


def dropouts(make):
    for dims in SHAPES:
        for is_test in False, True:
            for how in "upscale_in_train", "downgrade_in_infer":
                yield {
                    "X": make.values(*dims),
                    "dropout_prob": 0.375,
                    "is_test": is_test,
                    "dropout_implementation": how,
                    "seed": 5,
                }


def factor(is_test, dropout_implementation):
    upscale = dropout_implementation == "upscale_in_train"
    if is_test:
        return 1 if upscale else 0.625
    return 1 / 0.625 if upscale else 1


@case("dropout", dropouts, slack=4)
def dropout(x, is_test, dropout_implementation):
    u = words(5, elements_of(x.shape)).reshape(x.shape) / 2**32
    mask = (u >= 0.375) | is_test
    out = x * mask * factor(is_test, dropout_implementation)
    return {"Out": out, "Mask": mask}


def dropout_grads(make):
    for example in list(dropouts(make)):
        dims = example.pop("X").values.shape
        mask = make.integers("uint8", dims, 0, 1)
        yield example | {"Mask": mask, "Out@GRAD": make.values(*dims)}


@case("dropout_grad", dropout_grads, slack=4)
def dropout_grad(mask, out_grad, is_test, dropout_implementation):
    return {"X@GRAD": out_grad * mask * factor(is_test, dropout_implementation)}
