"""Rung trains language-model agents on long tasks by multi-turn reinforcement learning.

Importing this package is cheap: it loads no torch and no environment. Import the part
that you need, for example `rung.envs` or `rung.loop`.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
