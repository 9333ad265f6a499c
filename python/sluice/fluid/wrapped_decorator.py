"""``paddle.fluid.wrapped_decorator``: decorators that keep signatures."""

import contextlib

__all__ = ["signature_safe_contextmanager"]

signature_safe_contextmanager = contextlib.contextmanager
