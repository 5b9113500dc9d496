"""What an import must not load; which package may import which is checked by import-linter."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers")


def modules_after(module: str) -> set[str]:
    """Names of the modules that a fresh interpreter holds after `import module`."""
    script = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "rung",
        "rung.core",
        "rung.errors",
        "rung.seeding",
        "rung.envs",
        "rung.curriculum",
        "rung.replay",
        "rung.runs",
        "rung.cli",
    ],
)
def test_import_loads_no_torch(module: str) -> None:
    loaded = modules_after(module)
    assert module in loaded
    assert loaded.isdisjoint(HEAVY)


def test_import_rung_alone_loads_no_part_of_it() -> None:
    loaded = modules_after("rung")
    assert {name for name in loaded if name.startswith("rung")} == {"rung"}
    assert "numpy" not in loaded
