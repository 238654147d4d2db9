"""Exit codes of the command line and of job tasks."""

from __future__ import annotations

from hakiri.errors import Recovery

EXIT_CODES = {Recovery.FIX: 1, Recovery.RETRY: 3, Recovery.YIELD: 3, Recovery.REPORT: 4}
EXIT_STOPPED = 130
