"""The base policy's tokenizer: byte-level BPE with digits split and names kept whole."""

from collections.abc import Iterable
from typing import Any

TEMPLATE = (
    "{% for message in messages %}"
    "<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CONTROLS = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
# A digit; a capitalised word or a word before a digit, without the space before it, so that a
# name is the same token wherever it stands and can be copied; another word with its space; a run
# of other characters up to the next word.
_SPLIT = (
    r"\d|[A-Z][a-z]+|[A-Za-z]+(?=\d)| ?(?![A-Z][a-z])[A-Za-z_]+(?![A-Za-z_\d])"
    r"|(?:(?! [A-Za-z_])[^A-Za-z_\d])+"
)


def train_tokenizer(texts: Iterable[str], *, vocabulary: int) -> Any:
    """A tokenizer of the given vocabulary size, trained on `texts`."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=CONTROLS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|end|>",
        pad_token="<|pad|>",
        additional_special_tokens=CONTROLS[2:],
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
