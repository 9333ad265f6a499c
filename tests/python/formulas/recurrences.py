"""Steps of recurrent layers, as formulas in NumPy."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(i, f, o, g, c):
    """The hidden state and the cell after sums of gates."""
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def fluid_lstm(rows, w, b, h, c, reverse, *, functions=(sigmoid, np.tanh, np.tanh),
               projection=None, clips=(None, None)):  # fmt: skip
    """Fluid's formula for one sequence: what leaves each step, and cells.

    `functions` are of gates, candidates and cells. A bias of 7 parts ends with
    peepholes. With a projection, its tanh leaves a step instead.
    """
    gate, candidate, of_cell = functions
    size = len(c)
    outputs, cells = np.zeros((len(rows), len(h))), np.zeros((len(rows), size))
    bias, peepholes = b[: 4 * size], b[4 * size :]
    w_i, w_f, w_o = np.split(peepholes, 3) if len(peepholes) else [0] * 3
    order = range(len(rows))
    cell_clip, clip = (np.inf if most is None else most for most in clips)
    for t in reversed(order) if reverse else order:
        z_c, z_i, z_f, z_o = np.split(rows[t] + bias + h @ w, 4)
        i, f = gate(z_i + c * w_i), gate(z_f + c * w_f)
        c = np.clip(candidate(z_c) * i + c * f, -cell_clip, cell_clip)
        h = gate(z_o + c * w_o) * of_cell(c)
        if projection is not None:
            h = np.clip(np.tanh(h @ projection), -clip, clip)
        outputs[t], cells[t] = h, c
    return outputs, cells


def fluid_gru_step(x, h, w, origin_mode):
    """Fluid's formula: the new state, the reset one, and gates beside the
    candidate."""
    size = h.shape[-1]
    of_gates, of_candidate = np.split(np.ravel(w), [2 * size * size])
    sums = x[..., : 2 * size] + h @ of_gates.reshape(size, -1)
    update, reset = np.split(sigmoid(sums), 2, -1)
    reset_state = reset * h
    candidate = x[..., 2 * size :] + reset_state @ of_candidate.reshape(size, -1)
    c = np.tanh(candidate)
    old, new = (update, 1 - update) if origin_mode else (1 - update, update)
    parts = np.concatenate([update, reset, c], -1)
    return old * h + new * c, reset_state, parts


def fluid_gru(x, w, lengths, reverse=False):
    """The states of sequences of rows, one after the other."""
    out, begin = np.zeros((len(x), len(w))), 0
    for length in lengths:
        h = np.zeros(len(w))
        steps = range(begin, begin + length)
        for t in reversed(steps) if reverse else steps:
            h, *_ = fluid_gru_step(x[t], h, w, False)
            out[t] = h
        begin += length
    return out
