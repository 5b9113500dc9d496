"""ScriptedEngine: an engine whose messages a function writes. For tests and demonstrations."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rung.engine.protocol import Completion, FinishReason, Request
from rung.errors import EngineError

Script = Callable[[str, int, Sequence[int]], Sequence[int]]
"""(session, number of the turn, all tokens so far) -> tokens of the message, at least one.

What follows a stop token, or does not fit, is not said.
"""


class ScriptedEngine:
    """Follows a script; every token has the same log-probability.

    Args:
        script: writes the messages.
        context: longest session in tokens.
        logprob: log-probability given to every token, in nats.
    """

    def __init__(self, script: Script, *, context: int = 100_000, logprob: float = -1.0) -> None:
        self._script = script
        self._logprob = logprob
        self._queue: deque[Request] = deque()
        self._histories: dict[str, list[int]] = {}
        self._turns: dict[str, int] = {}
        self.context = context
        self.policy_version = 0
        self.requests: list[Request] = []
        """Every request submitted, in order."""

    def submit(self, request: Request) -> None:
        """Queue a request.

        Raises:
            EngineError: the session has a request already, or the request has no tokens.
        """
        if not request.token_ids:
            raise EngineError(f"the request of session {request.session!r} has no tokens")
        if any(request.session == waiting.session for waiting in self._queue):
            raise EngineError(f"session {request.session!r} has a request already")
        self._queue.append(request)
        self.requests.append(request)

    def poll(self) -> list[Completion]:
        """The completion of the oldest request.

        Raises:
            EngineError: the script said nothing, not even a stop token.
        """
        if not self._queue:
            return []
        request = self._queue.popleft()
        history = self._histories.setdefault(request.session, [])
        history += request.token_ids
        turn = self._turns.get(request.session, 0)
        self._turns[request.session] = turn + 1
        room = max(self.context - len(history), 0)
        allowed = min(request.sampling.max_response_tokens, room)
        said = list(self._script(request.session, turn, history)) if room else []
        if room and not said:
            raise EngineError(f"the script said nothing in turn {turn} of {request.session!r}")
        stops = (i for i, token in enumerate(said) if token in request.sampling.stop_ids)
        length = next(stops, len(said)) + 1
        if length <= min(allowed, len(said)):
            said, finish = said[:length], FinishReason.STOP
        else:
            said = said[:allowed]
            is_full = len(said) == room < request.sampling.max_response_tokens
            finish = FinishReason.CONTEXT if is_full else FinishReason.LENGTH
        history += said
        return [
            Completion(
                session=request.session,
                token_ids=tuple(said),
                logprobs=(self._logprob,) * len(said),
                finish=finish,
                policy_version=self.policy_version,
            )
        ]

    def release(self, session: str) -> None:
        """Forget a session."""
        self._queue = deque(request for request in self._queue if request.session != session)
        self._histories.pop(session, None)
        self._turns.pop(session, None)

    def publish(self, weights: Mapping[str, Any], policy_version: int) -> None:
        """Take the version; a script has no weights.

        Raises:
            EngineError: a request is under way.
        """
        del weights
        if self._queue:
            raise EngineError("publish() while a request is under way")
        self.policy_version = policy_version
