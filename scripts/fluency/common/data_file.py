"""The tables that a module keeps in a YAML file next to it."""

from pathlib import Path
from typing import Any

import yaml


def data_file(module: str, name: str = "") -> Any:
    """The data next to a module's `__file__`, named like the module or by `name`."""
    path = Path(module)
    path = path.with_name(name) if name else path.with_suffix(".yaml")
    return yaml.load(path.read_bytes(), yaml.CSafeLoader)
