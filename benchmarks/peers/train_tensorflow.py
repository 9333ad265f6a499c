"""TensorFlow: the suite `train`, by tf.function, with and without XLA."""

import peer_timing

options = peer_timing.arguments()
import networks  # noqa: E402
import tensorflow as tf  # noqa: E402  (after the thread variables)

tf.config.threading.set_intra_op_parallelism_threads(options.threads)
tf.config.threading.set_inter_op_parallelism_threads(1)


def logits(x, weights):
    """The network that the shapes of its parameters define; channels last."""
    for i in range(0, len(weights), 2):
        weight, bias = weights[i], weights[i + 1]
        if len(weight.shape) == 4:
            x = tf.nn.bias_add(tf.nn.conv2d(x, weight, 1, "VALID"), bias)
            x = tf.nn.max_pool2d(tf.nn.relu(x), 2, 2, "VALID")
            continue
        x = tf.reshape(x, [x.shape[0], weight.shape[0]])
        x = tf.nn.bias_add(tf.matmul(x, weight), bias)
        if i + 2 < len(weights):
            x = tf.nn.relu(x)
    return x


def make_step(xla=False):
    def make(case):
        weights = [tf.Variable(p) for p in case.channels_last()]
        image = tf.constant(case.image_channels_last())
        label = tf.constant(case.label)

        @tf.function(jit_compile=xla)
        def update(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(
                        y, logits(x, weights)))
            for weight, grad in zip(weights, tape.gradient(loss, weights)):
                weight.assign_sub(networks.RATE * grad)
            return loss

        return lambda: update(image, label).numpy()

    return make


def make_forward(xla=False):
    def make(case, batch):
        weights = [tf.Variable(p) for p in case.channels_last()]
        image = tf.constant(case.image_channels_last()[:batch])
        function = tf.function(lambda x: logits(x, weights), jit_compile=xla)
        return lambda: function(image).numpy()

    return make


networks.run_peer(
    __file__, options, "tensorflow",
    {"tensorflow": make_step(), "tensorflow_xla": make_step(True)},
    {"tensorflow": make_forward(), "tensorflow_xla": make_forward(True)})
