"""TorchEngine: continuous batching of any Hugging Face causal LM in plain PyTorch.

Every step packs what there is to do into one forward pass: one token of each message being
sampled, and prompts and observations up to a token budget. A session keeps its slot in the
key/value cache between turns; sessions that begin with the same prompt compute it once.

Life of a session:  waiting (no slot) -> reading (tokens pending) -> sampling -> idle -> reading ...
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from rung.engine.cache import CacheStep, SlotCache
from rung.engine.protocol import Completion, FinishReason, Request
from rung.engine.sampling import sample, uniforms
from rung.errors import ConfigError, EngineError
from rung.models.packed import packed_logits, use_packed_attention


@dataclass(slots=True, eq=False)
class _Session:
    slot: int | None = None
    cached: int = 0
    """Tokens whose keys and values are in the slot."""
    tokens: list[int] = field(default_factory=list)
    """All tokens so far, cached or not."""
    request: Request | None = None
    begun: int = 0
    """Length of `tokens` when the request's sampling began."""
    logprobs: list[float] = field(default_factory=list)


class TorchEngine:
    """An Engine around a causal LM.

    Args:
        model: a Hugging Face causal LM; the engine takes it over and publishes into it.
        slots: sessions that can be held at once; further ones wait.
        context: longest session in tokens; by default what the model allows.
        step_tokens: most tokens of one forward pass.

    Raises:
        ConfigError: a limit is below 1, or the model cannot run packed.
    """

    def __init__(
        self, model: Any, *, slots: int, context: int | None = None, step_tokens: int = 8192
    ) -> None:
        self.context = model.config.max_position_embeddings if context is None else context
        if min(slots, self.context, step_tokens) < 1:
            raise ConfigError(
                f"an engine needs slots, context and step_tokens of at least 1, got {slots}, "
                f"{self.context} and {step_tokens}"
            )
        self._model = model.eval().requires_grad_(False)
        use_packed_attention(self._model)
        self.policy_version = 0
        self.processed_tokens = 0
        """Tokens that went through the model since the start."""
        self._step_tokens = step_tokens
        self._cache = SlotCache(slots)
        self._free = list(range(slots))
        self._sessions: dict[str, _Session] = {}
        self._waiting: deque[str] = deque()
        self._prompts: dict[tuple[int, ...], list[_Session]] = {}
        """Prompts in the cache, and the sessions that began with them."""

    def submit(self, request: Request) -> None:
        """Queue a request.

        Raises:
            EngineError: the session has a request already, or the request has no tokens.
        """
        if not request.token_ids:
            raise EngineError(f"the request of session {request.session!r} has no tokens")
        session = self._sessions.get(request.session)
        if session is None:
            session = self._sessions[request.session] = _Session()
            self._waiting.append(request.session)
        if session.request is not None:
            raise EngineError(f"session {request.session!r} has a request already")
        session.request = request
        session.tokens += request.token_ids
        session.begun = len(session.tokens)
        session.logprobs = []

    def poll(self) -> list[Completion]:
        """Run steps until at least one request is finished; empty if there is nothing to do."""
        while True:
            self._admit()
            done = self._overlong()
            rows = self._choose()
            if not rows or done:
                return done
            done = self._step(rows)
            if done:
                return done

    def release(self, session: str) -> None:
        """Forget a session and free its slot."""
        found = self._sessions.pop(session, None)
        if found is None:
            return
        if found.slot is not None:
            self._free.append(found.slot)
            self._free.sort()
        else:
            self._waiting.remove(session)
        for prompt, holders in list(self._prompts.items()):
            if found in holders:
                holders.remove(found)
                if not holders:
                    del self._prompts[prompt]

    def publish(self, weights: Mapping[str, Any], policy_version: int) -> None:
        """Use new weights; every cache is dropped and re-read on the next request.

        A tied weight may be given by any of its names.

        Raises:
            EngineError: a request is under way, or the weights do not fit the model; it then goes
                on with those that it has.
        """
        if any(session.request is not None for session in self._sessions.values()):
            raise EngineError("publish() while a request is under way")
        own = self._model.state_dict()
        _check_fit(own, weights)
        with torch.no_grad():
            for name, tensor in weights.items():
                own[name].copy_(tensor)
        self._cache = SlotCache(self._cache.slots)
        for session in self._sessions.values():
            session.cached = 0
        self._prompts.clear()
        self.policy_version = policy_version

    def _admit(self) -> None:
        while self._waiting and self._free:
            self._sessions[self._waiting.popleft()].slot = self._free.pop(0)

    def _overlong(self) -> list[Completion]:
        """Requests for which the context has no room left, finished with nothing sampled."""
        return [
            self._finish(name, session, FinishReason.CONTEXT)
            for name, session in self._sessions.items()
            if session.request is not None and len(session.tokens) >= self.context
        ]

    def _choose(self) -> list[tuple[str, _Session, int]]:
        """Rows of the next step: sessions, and how many of their pending tokens to read."""
        active = [
            (name, session)
            for name, session in self._sessions.items()
            if session.request is not None and session.slot is not None
        ]
        active.sort(key=lambda item: (len(item[1].tokens) - item[1].cached > 1, item[1].slot))
        budget = self._step_tokens
        rows = []
        for name, session in active:
            if session.cached == 0 and not self._share_prompt(session):
                continue
            count = min(len(session.tokens) - session.cached, budget)
            if count:
                rows.append((name, session, count))
                budget -= count
        return rows

    def _share_prompt(self, session: _Session) -> bool:
        """Take the cache of a session with the same first tokens; False: wait for it."""
        prompt = tuple(session.tokens)
        holders = self._prompts.setdefault(prompt, [])
        if not holders:
            holders.append(session)
        if session in holders:
            return True
        leader = holders[0]
        if leader.cached < len(prompt) - 1:
            return False
        assert leader.slot is not None
        assert session.slot is not None
        session.cached = len(prompt) - 1
        self._cache.copy_prefix(leader.slot, session.slot, session.cached)
        holders.append(session)
        return True

    @torch.no_grad()
    def _step(self, rows: list[tuple[str, _Session, int]]) -> list[Completion]:
        """One forward pass, and one token for each row that has been read to its end."""
        self._cache.reserve(max(session.cached + count for _, session, count in rows))
        slots = [session.slot for _, session, _ in rows if session.slot is not None]
        counts = [count for _, _, count in rows]
        layout = CacheStep(self._cache, slots, [session.cached for _, session, _ in rows], counts)
        flat = [t for _, s, count in rows for t in s.tokens[s.cached : s.cached + count]]
        for _, session, count in rows:
            session.cached += count
        self.processed_tokens += len(flat)
        ready = [i for i, (_, s, _) in enumerate(rows) if s.cached == len(s.tokens)]
        keep = layout.last[torch.tensor(ready, dtype=torch.long)]
        logits = packed_logits(self._model, torch.tensor(flat), layout, keep)
        if not ready:
            return []
        return self._sample(logits, [rows[i][:2] for i in ready])

    def _sample(self, logits: torch.Tensor, rows: list[tuple[str, _Session]]) -> list[Completion]:
        requests = [session.request for _, session in rows if session.request is not None]
        seeds = np.array([request.seed for request in requests], np.uint64)
        counters = np.array([len(s.tokens) - s.begun for _, s in rows], np.uint64)
        temperature = torch.tensor([request.sampling.temperature for request in requests])
        uniform = torch.from_numpy(uniforms(seeds, counters))
        ids, logprobs = sample(logits, temperature, uniform)
        if not logprobs.isfinite().all():
            raise EngineError(
                f"the model's logits are not finite at policy version {self.policy_version}",
                hint="its weights hold NaN or are far too large",
            )
        done = []
        for (name, session), request, token, logprob in zip(
            rows, requests, ids.tolist(), logprobs.tolist(), strict=True
        ):
            session.tokens.append(token)
            session.logprobs.append(logprob)
            if token in request.sampling.stop_ids:
                done.append(self._finish(name, session, FinishReason.STOP))
            elif len(session.logprobs) >= request.sampling.max_response_tokens:
                done.append(self._finish(name, session, FinishReason.LENGTH))
            elif len(session.tokens) >= self.context:
                done.append(self._finish(name, session, FinishReason.CONTEXT))
        return done

    def _finish(self, name: str, session: _Session, finish: FinishReason) -> Completion:
        session.request = None
        return Completion(
            session=name,
            token_ids=tuple(session.tokens[session.begun :]),
            logprobs=tuple(session.logprobs),
            finish=finish,
            policy_version=self.policy_version,
        )


def _check_fit(own: Mapping[str, torch.Tensor], weights: Mapping[str, torch.Tensor]) -> None:
    """Raise EngineError unless `weights` give every weight of `own` once, in its shape.

    Names that share memory are tied: one of them is enough, and several must agree.
    """
    no_fit = "published weights do not fit the model"
    if unknown := sorted(weights.keys() - own.keys()):
        raise EngineError(f"{no_fit}: it has no weight named {unknown[0]!r}")
    given: dict[int, torch.Tensor] = {}
    for name, tensor in weights.items():
        if tensor.shape != own[name].shape:
            shapes = f"{tuple(tensor.shape)}, not {tuple(own[name].shape)}"
            raise EngineError(f"{no_fit}: {name!r} is {shapes}")
        other = given.setdefault(own[name].data_ptr(), tensor)
        if other.data_ptr() != tensor.data_ptr() and not torch.equal(other, tensor):
            raise EngineError(f"{no_fit}: {name!r} differs from what it is tied to")
    if missing := sorted(name for name, t in own.items() if t.data_ptr() not in given):
        raise EngineError(f"{no_fit}: {missing[0]!r} is not among them")
