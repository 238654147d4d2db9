"""Each test of the suite meets every subject."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.connector.stands import Place, Stand, Subject
from conformance.connector.subjects import SUBJECTS
from hakiri.model.table import TableSchema


@pytest.fixture(scope="session")
def stands() -> dict[str, Stand]:
    """The stands that this process has built. A parallel run may come back to a subject that it had left."""
    return {}


@pytest.fixture(params=SUBJECTS, ids=lambda subject: subject.name, scope="session")
def stand(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, stands: dict[str, Stand]) -> Stand:
    subject: Subject = request.param
    if subject.name not in stands:
        folder: Path = tmp_path_factory.mktemp("stand")
        ask = request.getfixturevalue
        place = Place(folder, lambda: str(ask("postgres_url")), lambda: str(ask("s3_endpoint")))
        stands[subject.name] = subject.build(place)
    return stands[subject.name]


@pytest.fixture(scope="session")
def schema(stand: Stand) -> TableSchema:
    return stand.connector.describe(stand.table)
