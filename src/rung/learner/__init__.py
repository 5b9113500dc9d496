"""The learner: updates from groups of trajectories.

`Learner` needs torch: import it from `rung.learner.learner`.
"""

from rung.learner.config import LearnerConfig

__all__ = ["LearnerConfig"]
