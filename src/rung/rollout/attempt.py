"""Attempt: one trajectory while it is being produced. Owns an environment and a session."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rung.core import (
    Response,
    RewardParts,
    Segment,
    StopReason,
    Task,
    Trajectory,
    Turn,
    TurnInfo,
)
from rung.engine import Completion, FinishReason, Request, Sampling
from rung.envs import TextActions
from rung.errors import EnvError, boundary
from rung.models.chat import Chat
from rung.seeding import Seeds, content_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A trajectory to be produced."""

    id: str
    group_id: str
    task: Task
    split: str
    seed: int
    """Root of the sampling streams: one per turn."""
    env_seed: int
    """Seed of the environment, the same for all members of a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one trajectory, and how its messages are sampled."""

    sampling: Sampling
    max_trajectory_tokens: int
    """Tokens of a trajectory, prompt and observations included, after which it is cut."""


class Attempt:
    """Turns completions into environment steps, and steps into the next request."""

    def __init__(
        self, plan: Plan, env: TextActions, chat: Chat, limits: Limits, instructions: str
    ) -> None:
        self.plan = plan
        self.env = env
        self._chat = chat
        self._limits = limits
        self._instructions = instructions
        self._ids: list[int] = []
        self._mask: list[bool] = []
        self._logprobs: list[float] = []
        self._turns: list[Turn] = []
        self._keys: list[str] = []
        self.stop: StopReason | None = None
        """Why it ended; None while it goes on."""

    def start(self) -> Request:
        """Reset the environment and ask for the first message."""
        with boundary(EnvError, f"resetting for {self.plan.id}"):
            text, _ = self.env.reset(seed=self.plan.env_seed, options={"task": self.plan.task})
        messages = [{"role": "user", "content": text}]
        if self._instructions:
            messages.insert(0, {"role": "system", "content": self._instructions})
        return self._ask(self._chat.prompt(messages))

    def receive(self, completion: Completion) -> Request | None:
        """Carry out a message; the next request, or None when the trajectory has ended.

        Raises:
            EnvError: the environment broke; the attempt cannot be scored.
        """
        if not completion.token_ids:
            self._forget_unread()
            self._end(StopReason.CONTEXT_LIMIT)
            return None
        start = len(self._ids)
        self._append(completion.token_ids, completion.logprobs)
        cut = completion.finish is not FinishReason.STOP
        text = self._chat.decode(completion.token_ids)
        with boundary(EnvError, f"a step of {self.plan.id}"):
            observation, _, _, _, info = self.env.step(Response(text, cut=cut))
        self._record(start, completion, text=text, cut=cut, observation=observation, info=info)
        if self.stop is not None:
            return None
        if completion.finish is FinishReason.CONTEXT:
            self._end(StopReason.CONTEXT_LIMIT)
            return None
        following = self._chat.observation(observation, ended=not cut)
        if len(self._ids) + len(following) >= self._limits.max_trajectory_tokens:
            self._end(StopReason.TOKEN_LIMIT)
            return None
        return self._ask(following)

    def _ask(self, token_ids: list[int]) -> Request:
        self._ids += token_ids
        self._mask += [False] * len(token_ids)
        self._logprobs += [0.0] * len(token_ids)
        return Request(
            session=self.plan.id,
            token_ids=tuple(token_ids),
            sampling=self._limits.sampling,
            seed=Seeds(self.plan.seed).seed("turn", len(self._turns)),
        )

    def _append(self, token_ids: tuple[int, ...], logprobs: tuple[float, ...]) -> None:
        self._ids += token_ids
        self._mask += [True] * len(token_ids)
        self._logprobs += logprobs

    def _forget_unread(self) -> None:
        """Drop an observation that did not fit into the context; it stays in its turn, as text."""
        if self._turns:
            for tokens in (self._ids, self._mask, self._logprobs):
                del tokens[self._turns[-1].stop :]

    def _record(
        self,
        start: int,
        completion: Completion,
        *,
        text: str,
        cut: bool,
        observation: str,
        info: dict[str, Any],
    ) -> None:
        turn: TurnInfo = info["turn"]
        self.stop = info["stop"]
        if turn.action is not None:
            spec = self.env.base.tools[turn.action.name]
            self._keys.append(turn.action.key(spec.key_arguments))
        else:
            self._keys.append("invalid")
        self._turns.append(
            Turn(
                segment=0,
                start=start,
                stop=len(self._ids),
                policy_version=completion.policy_version,
                text=text,
                cut=cut,
                observation=observation,
                reward=info["reward"],
                info=turn,
            )
        )

    def _end(self, stop: StopReason) -> None:
        """End by a limit of ours: costs what leaving the task unfinished costs."""
        self.stop = stop
        if self._turns:
            last = self._turns[-1]
            cost = RewardParts(efficiency=-self.env.base.rewards.unfinished)
            self._turns[-1] = replace(last, reward=last.reward + cost)

    def trajectory(self, *, error: str = "") -> Trajectory:
        """What was produced. With an error, it ended by an infrastructure fault.

        The message that an environment broke on is among its tokens, but is no turn.
        """
        stop = StopReason.INFRASTRUCTURE_FAULT if error else self.stop
        return Trajectory(
            id=self.plan.id,
            group_id=self.plan.group_id,
            task=self.plan.task,
            split=self.plan.split,
            seed=self.plan.seed,
            env_seed=self.plan.env_seed,
            segments=(
                Segment(
                    token_ids=np.array(self._ids, np.int32),
                    sampled_mask=np.array(self._mask, np.bool_),
                    behaviour_logprobs=np.array(self._logprobs, np.float32),
                ),
            ),
            turns=tuple(self._turns),
            stop=stop or StopReason.CANCELLED,
            key_hash=content_hash("\n".join(self._keys).encode()),
            error=error,
        )
