"""Rollout: producing trajectories. `RolloutPool.collect` turns plans into trajectories."""

from rung.rollout.attempt import Attempt, Limits, Plan
from rung.rollout.pool import RolloutPool

__all__ = ["Attempt", "Limits", "Plan", "RolloutPool"]
