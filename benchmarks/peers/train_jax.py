"""JAX: the suite `train`, with jit."""

import peer_timing

options = peer_timing.arguments()
import jax  # noqa: E402  (after the thread variables)
import jax.numpy as jnp  # noqa: E402
import networks  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402


def logits(x, weights):
    """The network that the shapes of its parameters define; channels last."""
    for i in range(0, len(weights), 2):
        weight, bias = weights[i], weights[i + 1]
        if weight.ndim == 4:
            x = lax.conv_general_dilated(
                x, weight, (1, 1), "VALID",
                dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = lax.reduce_window(
                jax.nn.relu(x + bias), -jnp.inf, lax.max,
                (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
            continue
        x = x.reshape(x.shape[0], -1) @ weight + bias
        if i + 2 < len(weights):
            x = jax.nn.relu(x)
    return x


def loss_of(weights, image, label):
    chances = jax.nn.log_softmax(logits(image, weights))
    return -jnp.mean(jnp.take_along_axis(chances, label[:, None], 1))


def make_step(case):
    def update(weights, image, label):
        loss, grads = jax.value_and_grad(loss_of)(weights, image, label)
        return loss, [w - networks.RATE * g for w, g in zip(weights, grads)]

    function = jax.jit(update, donate_argnums=0)
    weights = [jnp.array(p) for p in case.channels_last()]
    image = jnp.array(case.image_channels_last())
    label = jnp.array(case.label.astype("int32"))

    def step():
        nonlocal weights
        loss, weights = function(weights, image, label)
        return float(loss)

    return step


def make_forward(case, batch):
    function = jax.jit(logits)
    weights = [jnp.array(p) for p in case.channels_last()]
    image = jnp.array(case.image_channels_last()[:batch])
    return lambda: np.asarray(function(image, weights))


networks.run_peer(
    __file__, options, "jax", {"jax": make_step}, {"jax": make_forward})
