"""Loading policies: the built-in base, a local folder, or a name on a model hub."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rung.errors import ConfigError
from rung.models.chat import Chat

BASE = "base"
"""Name of the built-in base policy."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """A causal LM with its tokenizer and chat."""

    model: Any
    tokenizer: Any
    chat: Chat

    def save(self, folder: Path) -> None:
        """Write an ordinary Hugging Face folder."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def base_policy_path() -> Path:
    """Folder of the built-in base policy."""
    return Path(__file__).parent / "base_policy"


def load_policy(name: str) -> Policy:
    """The policy called `name`, in float32 on the CPU.

    Args:
        name: `base`, a folder, or a name on a model hub.

    Raises:
        ConfigError: it cannot be loaded.
        TemplateError: its tokenizer has no usable chat template.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    source = str(base_policy_path()) if name == BASE else name
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(source)
        loader: Any = AutoModelForCausalLM
        model, report = loader.from_pretrained(
            source, dtype=torch.float32, output_loading_info=True, ignore_mismatched_sizes=True
        )
        _check_complete(report)
    except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise ConfigError(
            f"model {name!r} cannot be loaded: {first[:200]}",
            hint="give 'base', a folder that save_pretrained wrote, or a hub name",
        ) from error
    logger.info("model=%s parameters=%d", name, sum(p.numel() for p in model.parameters()))
    return Policy(model.eval(), tokenizer, Chat(tokenizer))


def _check_complete(report: Any) -> None:
    """Raise ValueError if a weight was not in the files: transformers makes up random ones."""
    lost = sorted([*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])])
    if lost:
        raise ValueError(f"{len(lost)} weights are missing or of another shape, such as {lost[0]}")
