"""Layers that are one op and nothing else: those that the stub of this module
declares.
"""

import pathlib

from . import declare

declare(pathlib.Path(__file__).with_suffix(".pyi"), globals())
