"""TensorFlow's contestants of `./dev bench fluid`, by layers of Keras; see
worker.py."""

import cases
import tensorflow as tf
import worker

VERSION = tf.__version__


def set_threads(count):
    tf.config.threading.set_intra_op_parallelism_threads(count)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def by_layer(xla):
    """The stacked classifier by Keras's LSTM, which has one bias where others
    have the sum of two: its gradient counts twice."""

    def make(sizes):
        case = cases.Sequences(sizes, 2)
        x = tf.constant(case.x.transpose(1, 0, 2).copy())
        label = tf.constant(case.label)
        network = tf.keras.Sequential([
            tf.keras.layers.LSTM(sizes.units, return_sequences=True),
            tf.keras.layers.LSTM(sizes.units),
            tf.keras.layers.Dense(sizes.classes),
        ])
        network.build(x.shape)
        values = []
        for w, r, bias, more in case.layers:
            values += [w.T, r.T, bias + more]
        # Keras has the gates in the order i, f, g, o, too.
        network.set_weights([*values, case.weight.T, case.bias])
        weights = [variable.value for variable in network.trainable_variables]
        factors = [1, 1, 2, 1, 1, 2, 1, 1]

        @tf.function(jit_compile=xla)
        def update():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(
                        label, network(x, training=True)))
            slopes = tape.gradient(loss, weights)
            for weight, slope, factor in zip(weights, slopes, factors):
                weight.assign_sub(cases.RATE * factor * slope)
            return loss

        return worker.Steps(lambda: update().numpy())

    return make


ROWS = {"lstm": {"tensorflow": by_layer(False),
                 "tensorflow_xla": by_layer(True)}}
