"""Chat: messages to tokens, with the model's own template and nothing encoded twice.

A conversation grows by appending: the prompt once, then what the model sampled, token for
token, then the tokens that the template puts around the next observation. A template is used
through its scaffolding only: it is rendered with placeholders, and contents are encoded apart,
so that a control string inside an observation stays plain text.

Not guaranteed: that contents give the tokens of a one-shot rendering, where a tokenizer may join
the scaffolding with the first characters of a content. The text is the same.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from rung.errors import TemplateError, boundary

Message = dict[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`"""

_PLACEHOLDER = "\ue000{index}\ue001"
_PLACEHOLDERS = re.compile("\ue000(\\d+)\ue001")
_ANCHOR = "\n"


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
        # Not of one character, which cannot be split, nor white space, which controls nothing.
        added = tokenizer.get_added_vocab().items()
        controls = {text: number for text, number in added if len(text) > 1 and text.strip()}
        self._control_ids = frozenset(controls.values())
        # A look-ahead finds those that overlap; without any, this matches nowhere.
        self._controls = re.compile(f"(?={'|'.join(map(re.escape, controls)) or '(?!)'})")
        self._anchor: list[int] = []
        if self.tokenizer.decode(self._encode("a") * 2) != "aa":
            self._anchor = self._encode(_ANCHOR)
        pieces = self._render(["user", "assistant", "user"])
        after_reply, before_reply = str(pieces[pieces.index(1) + 1]), str(pieces[-1])
        end = self._controls.search(after_reply)
        if end is None or after_reply[: end.start()].strip() or not before_reply:
            raise TemplateError(
                f"the chat template ends a reply with {after_reply!r}, not with a token of its own",
                hint="end it with the tokenizer's eos_token, and add a generation prompt",
            )
        closing = self._encode(after_reply[end.start() :])
        self._end, self._opening = closing[0], closing[1:]
        self._generation = self._encode(before_reply)
        ends = {self._end, tokenizer.eos_token_id}
        self.stop_ids: frozenset[int] = frozenset(end for end in ends if end is not None)
        """Tokens that end a model message."""
        self._has_system = self._accepts_system()

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Token ids of a conversation up to where the model's message begins.

        A template without a system role gets the system message as the beginning of the user's.

        Raises:
            TemplateError: the template refuses this order of roles, or leaves a message out.
        """
        if not self._has_system:
            messages = _without_system(messages)
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
        cuts = [0, *(match.start() + 1 for match in self._controls.finditer(text)), len(text)]
        ids = [token for start, stop in pairwise(cuts) for token in self._encode(text[start:stop])]
        if self._control_ids.isdisjoint(ids):
            return ids
        # The tokenizer's normalisation made a control string of other characters.
        return [token for character in text for token in self._encode(character)]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of a model message, without its stop token."""
        ids = list(ids)
        if ids and ids[-1] in self.stop_ids:
            ids = ids[:-1]
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def _encode(self, text: str) -> list[int]:
        """Token ids of a piece of text, without the space that some tokenizers put before it."""
        if not text:
            return []
        if self._anchor:
            ids = list(self.tokenizer.encode(_ANCHOR + text, add_special_tokens=False))
            if ids[: len(self._anchor)] == self._anchor:
                return ids[len(self._anchor) :]
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def _render(self, roles: Sequence[str]) -> list[str | int]:
        """Scaffolding texts and message indices of a conversation, in order."""
        messages = [
            {"role": role, "content": _PLACEHOLDER.format(index=index)}
            for index, role in enumerate(roles)
        ]
        what = f"the chat template for roles {list(roles)}"
        with boundary(TemplateError, f"rendering {what}"):
            text = self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        parts = _PLACEHOLDERS.split(text)
        if parts[1::2] != [str(index) for index in range(len(roles))]:
            raise TemplateError(f"{what} does not show every message once, in order")
        return [int(part) if index % 2 else part for index, part in enumerate(parts)]

    def _accepts_system(self) -> bool:
        try:
            self._render(["system", "user"])
        except TemplateError:
            return False
        return True


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """`messages` with a leading system message put before the first user message."""
    if len(messages) < 2 or messages[0]["role"] != "system":
        return list(messages)
    system, first, *others = messages
    return [{**first, "content": f"{system['content']}\n\n{first['content']}"}, *others]
