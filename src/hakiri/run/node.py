"""Name a worker by its process, so that others on the same machine can see at once that it has ended."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Self

_PROC = Path("/proc")
_NAME = re.compile(r"(?P<host>.+)-(?P<machine>[0-9a-f]{8})-(?P<pid>\d+)-(?P<started>\d+)")


@dataclass(frozen=True, slots=True)
class Node:
    """One process: its machine, its number there, and when it started, in the kernel's ticks."""

    host: str
    machine: str
    """A digest of boot and process namespace: two containers may share a host name, and a reboot begins anew."""
    pid: int
    started: int

    @classmethod
    def here(cls) -> Self:
        """Return this process."""
        host = re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname())[:32].strip("-") or "node"
        return cls(host, _machine(host), os.getpid(), _started(os.getpid()) or 0)

    def __str__(self) -> str:
        return f"{self.host}-{self.machine}-{self.pid}-{self.started}"

    def knows_dead(self, holder: str) -> bool:
        """Return whether the holder of a lease is certainly dead: a process of this machine that has ended.

        False for whatever is not known here; such a lease expires by itself.
        """
        found = _NAME.fullmatch(holder.partition("#")[0])
        if not found or found["machine"] != self.machine or found["started"] == "0":
            return False
        return _started(int(found["pid"])) != int(found["started"])


def _machine(host: str) -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text()
        namespace = str((_PROC / "self/ns/pid").readlink())
    except OSError:
        # Without these files of the kernel, no two processes are known to share a machine.
        boot, namespace = os.urandom(8).hex(), ""
    return sha256(f"{host}/{boot}/{namespace}".encode()).hexdigest()[:8]


def _started(pid: int) -> int | None:
    """Return when the process started; None if there is none, or only its exit code is left."""
    try:
        told = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The second field is the program's name in brackets, and may hold anything.
    fields = told.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])
