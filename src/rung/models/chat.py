"""Chat: messages to tokens, with the model's own template and nothing encoded twice.

A conversation grows by appending: the prompt once, then what the model sampled, token for
token, then the tokens that the template puts around the next observation. A template is used
through its scaffolding only: it is rendered with placeholders, and contents are encoded apart,
so that a control string inside an observation stays plain text.
"""

import re
from collections.abc import Sequence
from typing import Any

from rung.errors import TemplateError, boundary

Message = dict[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`"""

_PLACEHOLDER = "\ue000{index}\ue001"
_PLACEHOLDERS = re.compile("\ue000(\\d+)\ue001")


class Chat:
    """One tokenizer's way of writing a conversation."""

    def __init__(self, tokenizer: Any) -> None:
        """Read the scaffolding out of the template.

        Raises:
            TemplateError: there is no chat template, or it cannot be used turn by turn.
        """
        if not getattr(tokenizer, "chat_template", None):
            raise TemplateError(
                f"tokenizer {getattr(tokenizer, 'name_or_path', '')!r} has no chat template",
                hint="use an instruct model, or set tokenizer.chat_template before saving it",
            )
        self.tokenizer = tokenizer
        controls = [text for text in tokenizer.get_added_vocab() if len(text) > 1]
        self._controls = re.compile("|".join(map(re.escape, sorted(controls, key=len)[::-1])))
        self._has_controls = bool(controls)
        pieces = self._render(["user", "assistant", "user"])
        if [piece for piece in pieces if isinstance(piece, int)] != [0, 1, 2]:
            raise TemplateError("the chat template does not show every message once, in order")
        after_reply = pieces[pieces.index(1) + 1]
        before_reply = pieces[-1]
        if not isinstance(after_reply, str) or not isinstance(before_reply, str):
            raise TemplateError("the chat template does not mark where messages begin and end")
        closing = self._encode(after_reply)
        self._end, self._opening = closing[0], closing[1:]
        self._generation = self._encode(before_reply)
        ends = {self._end, tokenizer.eos_token_id}
        self.stop_ids: frozenset[int] = frozenset(end for end in ends if end is not None)
        """Tokens that end a model message."""

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Token ids of a conversation up to where the model's message begins."""
        ids: list[int] = []
        for piece in self._render([message["role"] for message in messages]):
            if isinstance(piece, int):
                ids += self.encode_text(messages[piece]["content"])
            else:
                ids += self._encode(piece)
        return ids

    def observation(self, text: str, *, ended: bool) -> list[int]:
        """Token ids from the end of a model message to where its next one begins.

        Args:
            text: the observation.
            ended: the model's message ended with a stop token; if it was cut, its end is added.
        """
        start = [] if ended else [self._end]
        return [*start, *self._opening, *self.encode_text(text), *self._generation]

    def encode_text(self, text: str) -> list[int]:
        """Token ids of content: control strings in it are encoded as ordinary text."""
        text = text.encode("utf-8", "replace").decode("utf-8")
        if not self._has_controls:
            return self._encode(text)
        ids: list[int] = []
        start = 0
        for match in self._controls.finditer(text):
            ids += self._encode(text[start : match.start() + 1])
            start = match.start() + 1
        return ids + self._encode(text[start:])

    def decode(self, ids: Sequence[int]) -> str:
        """Text of a model message, without its stop token."""
        ids = list(ids)
        if ids and ids[-1] in self.stop_ids:
            ids = ids[:-1]
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False)) if text else []

    def _render(self, roles: Sequence[str]) -> list[str | int]:
        """Scaffolding texts and message indices of a conversation, in order."""
        messages = [
            {"role": role, "content": _PLACEHOLDER.format(index=index)}
            for index, role in enumerate(roles)
        ]
        with boundary(TemplateError, f"rendering the chat template for roles {list(roles)}"):
            text = self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        parts = _PLACEHOLDERS.split(text)
        return [int(part) if index % 2 else part for index, part in enumerate(parts)]
