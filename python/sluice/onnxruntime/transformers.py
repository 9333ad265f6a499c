"""``onnxruntime.transformers``, which Sluice lacks: see :mod:`.absent`."""

from sluice.onnxruntime.absent import Absent

__getattr__ = Absent("transformers").__getattr__
