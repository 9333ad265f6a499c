import os

import pytest


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """A cache of these tests, which other processes have, too."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("SLUICE_KERNEL_CACHE")
    os.environ["SLUICE_KERNEL_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["SLUICE_KERNEL_CACHE"]
    else:
        os.environ["SLUICE_KERNEL_CACHE"] = before


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path
