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
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    source = str(base_policy_path()) if name == BASE else name
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(source)
        model: Any = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(
            f"model {name!r} cannot be loaded: {str(error).splitlines()[0][:200]}",
            hint="give 'base', a folder that save_pretrained wrote, or a hub name",
        ) from error
    logger.info("model=%s parameters=%d", name, sum(p.numel() for p in model.parameters()))
    return Policy(model.eval(), tokenizer, Chat(tokenizer))
