"""What is synced survives a power cut, and nothing else does: told by calls that were seen from outside."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from hakiri.model.durable import sync
from power import Disk, trace

BOTH_NAMES = {"a/b/file": b"words", "new": b"words"}
WRITE = "folder.mkdir(parents=True); file.write_bytes(b'words')"


def left_by(what: str, tmp_path: Path) -> dict[str, bytes]:
    """The files after a power cut at the end of these statements."""
    root, cut = tmp_path / "root", tmp_path / "cut"
    root.mkdir()
    script = f"""\
from pathlib import Path
from hakiri.model.durable import sync, sync_above
root = Path({str(root)!r})
folder = root / "a" / "b"
file = folder / "file"
{what}
"""
    disk = Disk()
    for _ in disk.replay(trace([sys.executable, "-c", script], root=root, into=tmp_path / "trace")):
        pass
    assert disk.content() == files_below(root)
    disk.lay_out(cut)
    return files_below(cut)


def files_below(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("what", "left"),
    [
        (WRITE, {}),
        (f"{WRITE}; sync(file)", {}),
        (f"{WRITE}; sync(file); sync(folder)", {}),
        (f"{WRITE}; sync(folder); sync_above(folder)", {"a/b/file": b""}),
        (f"{WRITE}; sync(file); sync_above(folder)", {}),
        (f"{WRITE}; sync(file); sync_above(file)", {"a/b/file": b"words"}),
        (f"{WRITE}; sync(file); sync_above(file); file.write_bytes(b'more words')", {"a/b/file": b"words"}),
        (f"{WRITE}; sync(file); sync_above(file); file.rename(root / 'new')", {"a/b/file": b"words"}),
        (f"{WRITE}; sync(file); sync_above(file); file.rename(root / 'new'); sync(root)", BOTH_NAMES),
        (f"{WRITE}; sync(file); sync_above(file); file.unlink(); sync(folder)", {}),
    ],
    ids=[
        "nothing is synced",
        "no name is",
        "the folder's own name is not",
        "the content is not",
        "the file's name is not",
        "everything is",
        "a later write is not",
        "a new name is not",
        "a new name is, and the old one's end is not",
        "an end is",
    ],
)
def test_what_is_left(tmp_path: Path, what: str, left: dict[str, bytes]) -> None:
    assert left_by(what, tmp_path) == left


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.EBADF])
def test_a_mounted_store_that_cannot_sync_folders_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    sync(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=os.strerror(number)):
        sync(tmp_path / "file")


def test_a_folder_that_cannot_be_written_is_no_such_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync(tmp_path)
