"""The distribution is what its metadata says."""

from importlib.metadata import version

import mytriton_testkit


def test_version_is_the_installed_one() -> None:
    assert mytriton_testkit.__version__ == version("mytriton-testkit")
