"""Engines: tokens in, tokens and log-probabilities out.

`TorchEngine` needs torch: import it from `rung.engine.torch_engine`.
"""

from rung.engine.protocol import Completion, Engine, FinishReason, Request, Sampling
from rung.engine.scripted import ScriptedEngine

__all__ = ["Completion", "Engine", "FinishReason", "Request", "Sampling", "ScriptedEngine"]
