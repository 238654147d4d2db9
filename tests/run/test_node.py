"""A worker is known dead only when it certainly is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

from hakiri.run.node import Node

TELL = "from hakiri.run.node import Node; print(Node.here(), flush=True); input()"


def test_a_living_neighbour_is_not_known_dead_and_a_killed_one_is() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        neighbour = child.stdout.readline().strip()
        assert not Node.here().knows_dead(neighbour)
        child.kill()
        child.wait()
    assert Node.here().knows_dead(neighbour)
    assert Node.here().knows_dead(f"{neighbour}#{'0' * 32}"), "a holder is a node and a request"


def test_a_process_number_that_was_given_out_again_is_another_process() -> None:
    here = Node.here()
    assert here.knows_dead(str(replace(here, started=here.started - 1)))


def test_nothing_is_known_of_another_machine() -> None:
    here = Node.here()
    elsewhere = replace(here, machine="0" * 8, pid=1, started=1)
    assert not here.knows_dead(str(elsewhere))
    assert not here.knows_dead("worker-7")
