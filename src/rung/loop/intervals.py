"""Confidence intervals for what evaluation measures, all at 95 %."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

Z = 1.959964
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Measure:
    """A value with the bounds of its 95 % interval; all None when there is nothing to measure."""

    value: float | None
    low: float | None
    high: float | None


NOTHING = Measure(None, None, None)


def share(successes: int, trials: int) -> Measure:
    """A proportion with the Wilson score interval.

    Source: Wilson (1927), JASA 22(158), with z = 1.96.
    """
    if trials == 0:
        return NOTHING
    p = successes / trials
    centre = (p + Z * Z / (2 * trials)) / (1 + Z * Z / trials)
    half = Z * sqrt(p * (1 - p) / trials + Z * Z / (4 * trials**2)) / (1 + Z * Z / trials)
    return Measure(p, max(centre - half, 0.0), min(centre + half, 1.0))


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Measure:
    """Sum of numerators over sum of denominators, with a bootstrap over the pairs.

    One pair per trajectory, since turns of one trajectory are not independent. Source: Efron and
    Tibshirani (1993), percentile interval; 1,000 resamples with a fixed seed.
    """
    top, bottom = np.asarray(numerators, float), np.asarray(denominators, float)
    if not bottom.sum():
        return NOTHING
    picks = np.random.default_rng(0).integers(len(top), size=(RESAMPLES, len(top)))
    tops, bottoms = top[picks].sum(1), bottom[picks].sum(1)
    ratios = tops[bottoms > 0] / bottoms[bottoms > 0]
    low, high = np.quantile(ratios, [0.025, 0.975])
    return Measure(float(top.sum() / bottom.sum()), float(low), float(high))


def mean(values: Sequence[float]) -> Measure:
    """Mean with a bootstrap interval."""
    return ratio(values, [1.0] * len(values))
