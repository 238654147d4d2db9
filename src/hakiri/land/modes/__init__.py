"""Load modes by name, one file each. They decide how to land, and touch no table."""

from __future__ import annotations

from collections.abc import Mapping

from hakiri.land.modes.append import AppendMode
from hakiri.land.modes.blue_green import BlueGreenMode
from hakiri.land.modes.cdc_mirror import CdcMirrorMode
from hakiri.land.modes.incremental_watermark import WatermarkMode
from hakiri.land.modes.port import LandMode
from hakiri.land.modes.truncate import TruncateMode
from hakiri.land.modes.upsert import UpsertMode
from hakiri.land.recipe import LandRequest
from hakiri.spec.load import LoadMode

MODES: Mapping[LoadMode, LandMode] = {
    LoadMode.APPEND: AppendMode(),
    LoadMode.TRUNCATE: TruncateMode(),
    LoadMode.UPSERT: UpsertMode(),
    LoadMode.BLUE_GREEN: BlueGreenMode(),
    LoadMode.INCREMENTAL_WATERMARK: WatermarkMode(),
    LoadMode.CDC_MIRROR: CdcMirrorMode(),
}


def mode_of(request: LandRequest) -> LandMode:
    """Return the mode of the request; changes are always mirrored, even if they replace all rows."""
    return MODES[request.mode if request.mirror is None else LoadMode.CDC_MIRROR]
