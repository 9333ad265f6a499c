"""Weights that a kernel keeps in another form follow the scope."""

import numpy as np
import pytest

import sluice as sl


@pytest.mark.parametrize("batch", [1, 3, 5])
def test_changed_weights_are_seen(batch):
    steps, hidden = 4, 6
    generator = np.random.default_rng(batch)
    program, scope = sl.Program(), sl.Scope()
    with sl.program_guard(program):
        x = sl.data("x", [steps, batch, 3 * hidden], "float32")
    r = program.persistable("r", [1, 3 * hidden, hidden], "float32")
    y = program.append_op("gru", {"X": x, "R": r})["Y"]
    x_value = generator.normal(size=x.shape).astype(np.float32)
    exe = sl.Executor()

    def of(weights):
        """The formula: z, r and the candidate, after a reset before R."""
        h, rows = np.zeros((batch, hidden)), []
        z_r, candidate = weights[: 2 * hidden], weights[2 * hidden :]
        for step in x_value.astype(np.float64):
            gates = step[:, : 2 * hidden] + h @ z_r.T
            z, reset = np.split(1 / (1 + np.exp(-gates)), 2, axis=1)
            new = np.tanh(step[:, 2 * hidden :] + (reset * h) @ candidate.T)
            h = (1 - z) * new + z * h
            rows.append(h)
        return np.stack(rows)[:, None]

    for _ in range(3):
        weights = generator.normal(size=r.shape).astype(np.float32)
        scope["r"] = weights
        for _ in range(2):
            (got,) = exe.run(program, {"x": x_value}, [y], scope)
            np.testing.assert_allclose(got, of(weights[0]), atol=2e-6)
