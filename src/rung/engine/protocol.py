"""The engine's contract: tokens in, tokens and log-probabilities out.

A session is a conversation whose key/value cache lives on between requests. The first request
of a session carries the prompt, later ones only the tokens that follow what was sampled, so
history is never read again. Torch-free: anyone may implement it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from rung.errors import ConfigError


class FinishReason(StrEnum):
    """Why the engine stopped sampling."""

    STOP = "stop"
    """The model ended its message."""
    LENGTH = "length"
    """The message reached the request's limit."""
    CONTEXT = "context"
    """The model's context is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How to sample one message."""

    temperature: float = 1.0
    """0 is greedy: the likeliest token. Log-probabilities are under softmax(logits/temperature),
    and at temperature 0 under softmax(logits)."""
    max_response_tokens: int = 128
    """Longest message, in tokens."""
    stop_ids: frozenset[int] = frozenset()
    """Tokens that end the message; the one sampled is part of it."""

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf or self.max_response_tokens < 1:
            raise ConfigError(
                f"sampling needs temperature >= 0 and max_response_tokens >= 1, got "
                f"{self.temperature} and {self.max_response_tokens}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Tokens to append to a session, and how to sample what follows."""

    session: str
    token_ids: tuple[int, ...]
    """The prompt, or what follows the last sampled token."""
    sampling: Sampling
    seed: int
    """Root of the request's own random stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What was sampled for a request."""

    session: str
    token_ids: tuple[int, ...]
    """Sampled tokens, a stop token included; empty if not even one fitted into the context."""
    logprobs: tuple[float, ...]
    """Log-probability of each in nats, under the distribution it was sampled from."""
    finish: FinishReason
    policy_version: int


class Engine(Protocol):
    """Produces tokens for many sessions at once."""

    @property
    def policy_version(self) -> int:
        """Version of the weights in use."""
        ...

    @property
    def context(self) -> int:
        """Longest session in tokens."""
        ...

    def submit(self, request: Request) -> None:
        """Queue a request. A session has one request at a time."""
        ...

    def poll(self) -> list[Completion]:
        """Work until at least one request is finished; empty if none is queued."""
        ...

    def release(self, session: str) -> None:
        """Forget a session and what is queued for it; unknown sessions are ignored."""
        ...

    def publish(self, weights: Mapping[str, Any], policy_version: int) -> None:
        """Use these weights from now on; caches of older weights are dropped."""
        ...
