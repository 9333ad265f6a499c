"""Gradients by central differences, in float64."""

import numpy as np

import sluice as sl

STEP = 1e-5


def slopes(function, arrays):
    """The gradients of a function of a list of arrays."""
    found = []
    for i, array in enumerate(arrays):
        slope = np.zeros(array.shape)
        for at in np.ndindex(array.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = [each.copy() for each in arrays]
                moved[i][at] += step
                ends.append(np.asarray(function(moved)).item())
            slope[at] = (ends[0] - ends[1]) / (2 * STEP)
        found.append(slope)
    return found


def gradient_error(exe, loss, feed, wanted):
    """The largest error of gradients of `loss`, beside 1 or a larger gradient.

    Wanted variables are parameters, or are fed: an array, or a list of
    sequences.
    """
    pairs = sl.append_backward(loss, wanted)
    assert len(pairs) == len(wanted)
    exe.run(sl.default_startup_program())
    program, worst = sl.default_main_program(), 0
    grads = exe.run(program, feed, [grad for _, grad in pairs])
    for (variable, _), grad in zip(pairs, grads, strict=True):
        name = variable.name
        place = feed if name in feed else sl.global_scope()
        value = place[name] if name in feed else np.array(place[name])
        ragged = isinstance(value, list)

        def moved_loss(parts):
            place[name] = parts if ragged else parts[0]  # noqa: B023
            return exe.run(program, feed, [loss])[0]

        slope = slopes(moved_loss, value if ragged else [value])
        place[name] = value
        slope = np.concatenate(slope) if ragged else slope[0]
        grad = np.asarray(grad)
        assert grad.shape == slope.shape and np.any(grad)
        error = np.abs(grad - slope) / np.maximum(1, np.abs(slope))
        worst = max(worst, error.max())
    return worst
