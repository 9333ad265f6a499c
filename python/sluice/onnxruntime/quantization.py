"""``onnxruntime.quantization``, which Sluice lacks: see :mod:`.absent`."""

from sluice.onnxruntime.absent import Absent

__getattr__ = Absent("quantization").__getattr__
