"""The replay pool: trajectories between rollout and learner."""

from rung.replay.pool import ReplayPool

__all__ = ["ReplayPool"]
