"""``paddle.fluid.wrapped_decorator``: decorators that keep signatures."""

import contextlib

signature_safe_contextmanager = contextlib.contextmanager
