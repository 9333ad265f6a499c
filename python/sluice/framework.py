"""Programs, their variables and ops, and the default programs."""

from .backward import append_backward
from .defaults import (
    data,
    default_main_program,
    default_startup_program,
    name_scope,
    program_guard,
)
from .program import Operator, Program, Variable
from .tracebacks import created  # noqa: F401

__all__ = [
    "Operator", "Program", "Variable", "append_backward", "data",
    "default_main_program", "default_startup_program", "name_scope",
    "program_guard",
]
