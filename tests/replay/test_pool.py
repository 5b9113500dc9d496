import tracemalloc

import numpy as np
import pytest

from rung.core import Group, Segment, StopReason, Task, Trajectory
from rung.errors import ConfigError
from rung.replay import ReplayPool

TASK = Task.make(environment="office", text="Find it.", data={})


def group(name: str, version: int = 0, members: int = 2, tokens: int = 2) -> Group:
    segment = Segment(
        token_ids=np.arange(tokens, dtype=np.int32),
        sampled_mask=np.zeros(tokens, np.bool_),
        behaviour_logprobs=np.zeros(tokens, np.float32),
    )
    trajectories = tuple(
        Trajectory(
            id=f"{name}-{index}",
            group_id=name,
            task=TASK,
            split="train",
            seed=index,
            env_seed=0,
            segments=(segment,),
            turns=(),
            stop=StopReason.SUCCESS,
            key_hash="",
        )
        for index in range(members)
    )
    return Group(id=name, task=TASK, policy_version=version, trajectories=trajectories)


def names(groups: tuple[Group, ...]) -> str:
    return " ".join(group.id for group in groups)


def test_groups_come_out_whole_once_and_in_order():
    pool = ReplayPool()
    pool.add([group("b"), group("a", members=3)])
    pool.add([group("c")])
    assert len(pool) == 7
    drawn = pool.draw(0)
    assert names(drawn) == "b a c"
    assert [len(g.trajectories) for g in drawn] == [2, 3, 2]
    assert pool.draw(0) == ()
    assert (len(pool), pool.dropped) == (0, 0)


def test_what_is_drawn_is_what_was_added():
    """REPLAY-2: a group's fields travel together."""
    pool = ReplayPool()
    added = group("a")
    pool.add([added])
    assert pool.draw(0)[0] is added


@pytest.mark.parametrize(
    ("version", "drawn", "left", "dropped"),
    [
        (8, "v8", 4, 0),
        (9, "v9", 2, 2),
        (10, "v10", 0, 4),
        (11, "", 0, 6),
    ],
)
def test_only_the_newest_version_is_drawn_and_older_ones_go(version, drawn, left, dropped):
    """REPLAY-3. Groups of a version still to come stay."""
    pool = ReplayPool()
    pool.add(group(f"v{number}", number) for number in (8, 9, 10))
    assert names(pool.draw(version)) == drawn
    assert (len(pool), pool.dropped) == (left, dropped)


def test_freshness_is_checked_again_on_every_draw():
    pool = ReplayPool()
    pool.add([group("late", 0), group("early", 1)])
    assert names(pool.draw(0)) == "late"
    pool.add([group("straggler", 0)])
    assert names(pool.draw(1)) == "early"
    assert pool.dropped == 2


def test_nothing_fresh_gives_nothing_and_does_not_wait():
    pool = ReplayPool()
    assert pool.draw(0) == ()
    pool.add([group("old", 0)])
    assert pool.draw(5) == ()


def test_the_oldest_make_room():
    pool = ReplayPool(capacity=5)
    pool.add(group(str(number)) for number in range(4))
    assert (len(pool), pool.dropped) == (4, 4)
    assert names(pool.draw(0)) == "2 3"


def test_a_large_group_drops_as_many_as_it_needs():
    pool = ReplayPool(capacity=4)
    pool.add([group("a", members=1), group("b", members=1), group("big", members=4)])
    assert names(pool.draw(0)) == "big"
    assert pool.dropped == 2


def test_a_full_pool_drops_nothing():
    pool = ReplayPool(capacity=4)
    pool.add([group("a"), group("b")])
    assert (len(pool), pool.dropped) == (4, 0)


def test_a_group_larger_than_the_pool_is_refused():
    pool = ReplayPool(capacity=3)
    pool.add([group("a")])
    with pytest.raises(ConfigError, match=r"group of 4 .* replay pool of 3\nhint: raise"):
        pool.add([group("big", members=4)])
    assert names(pool.draw(0)) == "a"


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_pool_holds_something(capacity):
    with pytest.raises(ConfigError, match=f"at least 1, got {capacity}"):
        ReplayPool(capacity)


def test_memory_is_bounded():
    """REPLAY-6: 300 rounds that nobody draws, of 160 kB each."""
    pool = ReplayPool(capacity=8)
    sizes = []
    tracemalloc.start()
    try:
        for number in range(300):
            pool.add([group(str(number), number, members=4, tokens=20_000)])
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert len(pool) == 8
    assert pool.dropped == 300 * 4 - 8
    assert max(sizes[50:]) < 1.2 * max(sizes[:50])
