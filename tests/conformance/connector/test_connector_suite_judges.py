"""The suite finds out a connector that breaks the port."""

from __future__ import annotations

import pytest

from conformance.connector.checks import check_counts_agree, check_pieces_cover
from conformance.connector.hostile import Mood, hostile_stand


def test_a_connector_that_lies_about_counts_is_found_out() -> None:
    stand = hostile_stand(Mood.LYING)
    with pytest.raises(AssertionError, match="counted"):
        check_counts_agree(stand, stand.connector.describe(stand.table))


def test_a_connector_that_loses_rows_without_a_key_is_found_out() -> None:
    stand = hostile_stand(Mood.LOSING)
    with pytest.raises(AssertionError):
        check_pieces_cover(stand, stand.connector.describe(stand.table))
