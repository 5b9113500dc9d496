"""One root seed, and named random streams derived from it.

A stream's seed is a function of the root seed and of the stream's name alone, so adding a
consumer, a worker or an evaluation never moves another stream. Nothing here depends on the
process, on PYTHONHASHSEED, or on the order in which streams are asked for.
"""

import hashlib
import operator
from dataclasses import dataclass

import numpy as np

SEED_BITS = 63


@dataclass(frozen=True, slots=True)
class Seeds:
    """The random streams of one root seed; `path` is the name of the current branch."""

    root: int
    path: tuple[str | int, ...] = ()

    def child(self, *names: str | int) -> "Seeds":
        """The branch below this one with the given names."""
        return Seeds(self.root, (*self.path, *names))

    def seed(self, *names: str | int) -> int:
        """A seed in [0, 2**63) for the stream with the given names.

        Raises:
            TypeError: a name is neither text nor an integer.

        Source: BLAKE2b (RFC 7693) over a prefix-free encoding of root and names.
        """
        digest = hashlib.blake2b(digest_size=8, person=b"rung.seed")
        for part in (self.root, *self.path, *names):
            kind = "s" if isinstance(part, str) else "i"
            text = (part if isinstance(part, str) else str(operator.index(part))).encode()
            digest.update(f"{kind}{len(text)}:".encode() + text)
        return int.from_bytes(digest.digest(), "big") >> (64 - SEED_BITS)

    def generator(self, *names: str | int) -> np.random.Generator:
        """A fresh numpy generator for the stream with the given names."""
        return np.random.Generator(np.random.PCG64(self.seed(*names)))


def content_hash(data: bytes) -> str:
    """32 hexadecimal digits that identify `data` by content (BLAKE2b)."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
