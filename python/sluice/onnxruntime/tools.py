"""``onnxruntime.tools``, which Sluice lacks: see :mod:`.absent`."""

from sluice.onnxruntime.absent import Absent

__getattr__ = Absent("tools").__getattr__
