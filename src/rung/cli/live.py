"""Live progress of a training run: a bar on a terminal, lines elsewhere."""

import time
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from rung.cli.tables import percent
from rung.loop.recipe import RunConfig
from rung.loop.train import Progress


class Live:
    """Shows what a training run reports. Writes to stderr when stdout is for a program."""

    def __init__(self, config: RunConfig, out: Path, *, quiet: bool) -> None:
        self.console = Console(stderr=quiet)
        self._config = config
        self._out = out
        self._round_seconds: list[float] = []
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=config.rounds, note="")

    def __enter__(self) -> Self:
        self._say(f"recipe {self._config.recipe}, seed {self._config.seed}, run {self._out}")
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
        if kind is KeyboardInterrupt:
            self._say(f"stopped; the run so far is in {self._out}")

    def _say(self, line: str) -> None:
        """One line, whole even where the terminal is narrow."""
        self.console.print(line, highlight=False, soft_wrap=True)

    def hear(self, progress: Progress) -> None:
        """Show one report of the run."""
        if progress.evaluation is not None:
            found = progress.evaluation
            success = percent(found.measures["success_share"], interval=True)
            where = f"{progress.label:>9}  held-out {found.tier}  {found.mode:<7}"
            self._say(f"{where}  success {success}")
        if progress.stage == "round":
            self._round(progress)

    def _round(self, progress: Progress) -> None:
        values, timing = progress.metrics, progress.timing
        self._round_seconds.append(timing["timing/round_seconds"])
        recent = self._round_seconds[-5:]
        left = sum(recent) / len(recent) * (progress.rounds - progress.round)
        success = 100 * values.get("rollout/success_share", 0.0)
        note = (
            f"success {success:5.1f} %  return {values.get('rollout/return_mean', 0.0):6.2f}  "
            f"entropy {values['learner/entropy_nats']:.3f}  "
            f"{timing['timing/sampled_tokens_per_second']:.0f} tokens/s  "
            f"{time.strftime('%M:%S', time.gmtime(left))} left"
        )
        if self.console.is_terminal:
            self._bar.update(
                self._task, completed=progress.round, description="training", note=note
            )
        else:
            self._say(f"    round {progress.round:>3} of {progress.rounds}  {note}")
