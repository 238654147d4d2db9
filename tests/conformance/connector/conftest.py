"""Each test of the suite meets every subject."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.connector.stands import Place, Stand, Subject
from conformance.connector.subjects import SUBJECTS
from hakiri.model.table import TableSchema


@pytest.fixture(params=SUBJECTS, ids=lambda subject: subject.name, scope="session")
def stand(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stand:
    subject: Subject = request.param
    folder: Path = tmp_path_factory.mktemp("stand")
    ask = request.getfixturevalue
    return subject.build(Place(folder, lambda: str(ask("postgres_url")), lambda: str(ask("s3_endpoint"))))


@pytest.fixture(scope="session")
def schema(stand: Stand) -> TableSchema:
    return stand.connector.describe(stand.table)
