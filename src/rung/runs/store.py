"""How bytes reach the disk: whole files by rename, lines by append.

A whole file is written under a temporary name in its own folder, flushed to the disk and
renamed, so a reader sees the old file, the new file or none. Lines are appended by one write;
one that fails half way is taken back, so what stands in the file stays whole. A reader may
still meet a half-written last line, for a moment or after a kill: see jsonl.py.

Not here: locking. One process writes a run; several threads must take turns.
"""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from rung.errors import StoreError

_HINTS = {
    errno.ENOSPC: "free some disk space; what was written before is intact",
    errno.EDQUOT: "free some of your disk quota; what was written before is intact",
    errno.EFBIG: "raise the file size limit; what was written before is intact",
    errno.EEXIST: "another run has just taken this folder: choose another one",
    errno.EROFS: "choose a folder on a disk that can be written to",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EMFILE: "raise the limit of open files",
    errno.ENOTDIR: "choose a path whose parents are folders",
}


@contextmanager
def storing(path: Path, verb: str = "write") -> Generator[None]:
    """Turn an OSError into a StoreError that names the file, the reason and what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        hint = _HINTS.get(error.errno or 0, "check the disk and the folder, then try again")
        raise StoreError(f"cannot {verb} {path}: {reason}", hint=hint) from error


def write_whole(path: Path, data: bytes) -> None:
    """Make `data` the content of `path`, whole or not at all.

    Raises:
        StoreError: the disk refused; a file that stood at `path` is as before.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storing(path):
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(path.parent)


class LineFile:
    """An append-only file of lines, held open until `close`."""

    def __init__(self, path: Path, *, exclusive: bool = False) -> None:
        """Open or create `path`.

        Args:
            path: the file; its folder exists.
            exclusive: refuse a file that exists already.

        Raises:
            StoreError: the file cannot be opened, or exists although it must not.
        """
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_EXCL if exclusive else 0)
        with storing(path, "create"):
            self._descriptor = os.open(path, flags, 0o666)

    def append(self, data: bytes) -> None:
        """Add whole lines; all of them or none.

        Args:
            data: one or more lines, each with its newline.

        Raises:
            StoreError: the disk refused; the file is as before.
        """
        with storing(self.path):
            size = os.fstat(self._descriptor).st_size
            try:
                _write_all(self._descriptor, data)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._descriptor, size)
                raise

    def close(self) -> None:
        """Flush to the disk and close."""
        with storing(self.path):
            try:
                os.fsync(self._descriptor)
            finally:
                os.close(self._descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    """One write; more only where the system took less than it was given."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])


def _sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
