"""``onnxruntime.transformers``, of which Sluice has the types of tensors only.

The rest is absent: see :mod:`sluice.onnxruntime.absent`.
"""

from sluice.onnxruntime.absent import package

__getattr__ = package(
    __name__,
    "Sluice fuses what it can when a model is run: load the model as "
    "it is, or what onnxruntime made of it in a process of its own",
)
