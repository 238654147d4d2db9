"""The allowed status changes of chunks, landings, runs and phases. They only move forward (G7)."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from hakiri.model.chunk import ChunkStatus
from hakiri.model.ledger import LandingStatus, Phase, RunStatus


class Move(NamedTuple):
    """An allowed status change, and the verb that makes it."""

    verb: str
    before: StrEnum
    after: StrEnum


CHUNK_MOVES = (
    Move("claim", ChunkStatus.PENDING, ChunkStatus.RUNNING),
    Move("claim", ChunkStatus.WAITING, ChunkStatus.RUNNING),
    Move("renew", ChunkStatus.RUNNING, ChunkStatus.RUNNING),
    Move("complete", ChunkStatus.RUNNING, ChunkStatus.DONE),
    Move("fail", ChunkStatus.RUNNING, ChunkStatus.WAITING),
    Move("fail", ChunkStatus.RUNNING, ChunkStatus.FAILED),
    Move("rewind", ChunkStatus.RUNNING, ChunkStatus.SUPERSEDED),
    Move("rewind", ChunkStatus.WAITING, ChunkStatus.SUPERSEDED),
    Move("rewind", ChunkStatus.DONE, ChunkStatus.SUPERSEDED),
    Move("rewind", ChunkStatus.FAILED, ChunkStatus.SUPERSEDED),
)
"""After `done` and `failed` only a new generation follows. A waiting chunk continues with a higher attempt."""

LANDING_MOVES = (
    Move("take over", LandingStatus.RESERVED, LandingStatus.RESERVED),
    Move("finish", LandingStatus.RESERVED, LandingStatus.LANDED),
    Move("abandon", LandingStatus.RESERVED, LandingStatus.ABANDONED),
)

PHASE_MOVES = (
    Move("chunks discovered", Phase.PLANNING, Phase.BACKFILLING),
    Move("caught up", Phase.BACKFILLING, Phase.STREAMING),
    Move("gap detected", Phase.STREAMING, Phase.BACKFILLING),
)

RUN_MOVES = (
    Move("succeed", RunStatus.RUNNING, RunStatus.SUCCEEDED),
    Move("fail", RunStatus.RUNNING, RunStatus.FAILED),
    Move("stop", RunStatus.RUNNING, RunStatus.STOPPED),
)


def pairs(moves: tuple[Move, ...]) -> frozenset[tuple[str, str]]:
    """Return the status changes without their verbs."""
    return frozenset((move.before.value, move.after.value) for move in moves)
