"""Reduction: how much each trained token weighs in the loss.

The weights of a whole optimizer batch sum to 1 and are fixed before it is split, so the loss is
the same for every split into micro-batches and ranks.

    token       1 / (trained tokens of the batch): long trajectories weigh more
    turn        1 / (turns of the batch * tokens of the turn)
    trajectory  1 / (trajectories of the batch * trained tokens of the trajectory)
"""

from collections.abc import Sequence
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

Reduction = Literal["token", "turn", "trajectory"]


def token_weights(
    turn_lengths: Sequence[Sequence[int]], *, reduction: Reduction
) -> list[NDArray[np.float64]]:
    """Weight of each trained token, one array per trajectory.

    Args:
        turn_lengths: for each trajectory, the number of trained tokens of each turn.
        reduction: see the module.

    Returns:
        for each trajectory an array of its trained tokens, in order. A batch without trained
        tokens gives empty arrays.
    """
    totals = [sum(lengths) for lengths in turn_lengths]
    match reduction:
        case "token":
            every = sum(totals)
            return [np.full(total, 1 / max(every, 1)) for total in totals]
        case "trajectory":
            count = sum(total > 0 for total in totals)
            return [np.full(total, 1 / max(count * total, 1)) for total in totals]
        case "turn":
            turns = sum(length > 0 for lengths in turn_lengths for length in lengths)
            return [
                np.concatenate([np.zeros(0), *(np.full(n, 1 / max(turns * n, 1)) for n in lengths)])
                for lengths in turn_lengths
            ]
        case _:
            assert_never(reduction)
