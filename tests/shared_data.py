"""Real predictions that lie beside the checkout, where they are; never part of the project."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "shared" / "data"
needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason="the folder of real predictions is not beside the checkout")
NETWORKS = sorted(
    p.name for p in FOLDER.glob("*.parquet") if p.name.split("_")[0] in {"cifar10", "cifar100", "imagenet"}
)
NETWORKS = [name for name in NETWORKS if "10class" not in name]
