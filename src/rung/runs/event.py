"""The kinds of events in a run, a closed set, with the fields of each.

Every line of events.jsonl is an object with `schema_version`, `kind` and `at` (UTC), and the
fields below. Only `at` depends on the clock, so equal runs differ nowhere else. A reader
keeps fields that it does not know and skips kinds that it does not know.
"""

from enum import StrEnum


class EventKind(StrEnum):
    """What happened."""

    RUN_STARTED = "run_started"
    """The first line. No fields; run.json tells the rest."""
    EVALUATION = "evaluation"
    """One evaluation of one policy on one tier.

    `label`: "base", "trained" or "round 12". `round`: rounds finished before it. `mode`:
    "greedy" or "sampled". `tier`: E1, E2 or E3. `tasks`: number of tasks. `measures`: name ->
    {"value", "low", "high"}, each a number or null, the last two a 95 % interval; the names
    stand in evaluation.py. `stop_reasons`: reason -> number of trajectories.
    """
    POLICY_PUBLISHED = "policy_published"
    """The engine works with new weights from here on. `round`, `policy_version`."""
    TIER_CHANGED = "tier_changed"
    """The curriculum opened or closed a tier.

    `change`: "promotion" or "demotion". `tier`: the tier that opened or closed. `round`: the round
    after which. `evidence`: success of the tier judged, in the rounds that decided it.
    """
    WARNING = "warning"
    """Something that a person should look at. `message`; `round` where it has one."""
    INFRASTRUCTURE_FAULT = "infrastructure_fault"
    """An environment or engine broke. `round`, `task`, `error`."""
    INTERRUPTED = "interrupted"
    """The last line of a run that was stopped by a person or a signal. `error`: a reason."""
    RUN_FINISHED = "run_finished"
    """The last line of any other run. `status`: see RunStatus. `error`: why it failed, or ""."""


class RunStatus(StrEnum):
    """How a run ended, or that it has not."""

    FINISHED = "finished"
    """All rounds are done."""
    FAILED = "failed"
    """An error ended it."""
    INTERRUPTED = "interrupted"
    """A person or a signal ended it."""
    UNFINISHED = "unfinished"
    """No end is recorded: it is still running, or it was killed."""
