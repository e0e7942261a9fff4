"""A wheel with its kernels compiled: `HATCH_BUILD_HOOKS_ENABLE=1 python -m build`. Without that it has none.

Such a wheel is for one version of Python and one kind of machine; with another numba than it was built with, or on a
processor that is too old for its code, it compiles on the first run as any other does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ADDRESS = "CALIBRANT_URL"
"""The environment variable with the address of the repository that a release is built from."""


class Addresses(MetadataHookInterface):
    """Where the project is at home, as the place that builds a release knows it; none of any other build."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the addresses."""
        home = os.environ.get(ADDRESS, "").rstrip("/")
        pages = {"Changelog": "blob/main/CHANGELOG.md", "Documentation": "tree/main/docs", "Issues": "issues"}
        named = {name: f"{home}/{page}" for name, page in pages.items()}
        metadata["urls"] = {"Homepage": home, "Repository": home, **named} if home else {}


class CompiledKernels(BuildHookInterface):  # type: ignore[type-arg]
    """What the builder of wheels runs, where it is asked for."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels, put them into the wheel, and name it for this Python and kind of machine."""
        if version == "editable":  # whose source may change at any time
            return
        self.kept = TemporaryDirectory()  # goes when this hook does: the wheel is written by then
        folder = Path(self.kept.name, "machine_code")
        command = [sys.executable, str(Path(self.root, "tools", "compile_kernels.py")), str(folder)]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": str(Path(self.root, "src"))}, check=True)
        build_data["force_include"][str(folder)] = "calibrant/kernels/machine_code"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
