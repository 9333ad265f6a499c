"""``onnxruntime.datasets``, which Sluice lacks: see :mod:`.absent`."""

from sluice.onnxruntime.absent import Absent

__getattr__ = Absent("datasets").__getattr__
