"""Versions of what a run was made with."""

import platform
from importlib.metadata import version

import rung


def versions() -> dict[str, str]:
    """Name -> version, of Rung, Python, the machine and the main libraries."""
    libraries = ("torch", "transformers", "tokenizers", "numpy", "gymnasium", "sqlglot")
    return {
        "rung": rung.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        **{name: version(name) for name in libraries},
    }
