"""What a process leaves with says what its caller should do."""

from __future__ import annotations

from hakiri.errors import Recovery

EXIT_CODES = {Recovery.FIX: 1, Recovery.RETRY: 3, Recovery.YIELD: 3, Recovery.REPORT: 4}
EXIT_STOPPED = 130
