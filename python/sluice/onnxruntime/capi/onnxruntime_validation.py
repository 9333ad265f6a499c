"""Checks that onnxruntime makes when it is imported."""

from __future__ import annotations

from sluice.onnxruntime.environment import INTERFACE

__all__ = [
    "check_distro_info", "check_training_module",
    "get_package_name_and_version_info",
]


def check_distro_info() -> None:
    """Do nothing: Sluice was built for this system."""


def get_package_name_and_version_info() -> tuple[str, str, str]:
    """The name of the package, the version, and that of CUDA, here ""."""
    return "onnxruntime", INTERFACE, ""


def check_training_module() -> tuple[bool, str, str, str]:
    """Whether onnxruntime's training is there: False, and the package."""
    return (False, *get_package_name_and_version_info())
