"""ReplayPool: where trajectories wait for the learner, in whole groups.

At present it serves on-policy training: what was collected under the newest policy version is
drawn once, older groups are dropped. The capacity bounds memory. Group statistics are computed
from the group as it was collected, so nothing that is dropped later can move a baseline.
"""

from collections import deque
from collections.abc import Iterable

from rung.core import Group
from rung.errors import ConfigError


class ReplayPool:
    """Holds groups until they are drawn or too old.

    Args:
        capacity: most trajectories held.
    """

    def __init__(self, capacity: int = 1024) -> None:
        if capacity < 1:
            raise ConfigError(f"the replay pool needs a capacity of at least 1, got {capacity}")
        self.capacity = capacity
        self.dropped = 0
        """Trajectories dropped since the start, for want of room or freshness."""
        self._groups: deque[Group] = deque()

    def __len__(self) -> int:
        return sum(len(group.trajectories) for group in self._groups)

    def add(self, groups: Iterable[Group]) -> None:
        """Take in groups; the oldest make room.

        Raises:
            ConfigError: one group alone is larger than the pool.
        """
        for group in groups:
            if len(group.trajectories) > self.capacity:
                raise ConfigError(
                    f"a group of {len(group.trajectories)} trajectories does not fit into a "
                    f"replay pool of {self.capacity}",
                    hint="raise the capacity, or lower the group size",
                )
            self._groups.append(group)
            while len(self) > self.capacity:
                self._drop(self._groups[0])

    def draw(self, policy_version: int) -> tuple[Group, ...]:
        """All groups collected under this policy version, each drawn once; older ones go."""
        for group in [g for g in self._groups if g.policy_version < policy_version]:
            self._drop(group)
        drawn = tuple(g for g in self._groups if g.policy_version == policy_version)
        self._groups = deque(g for g in self._groups if g.policy_version != policy_version)
        return drawn

    def _drop(self, group: Group) -> None:
        self._groups.remove(group)
        self.dropped += len(group.trajectories)
