"""A process that moves refs and kills itself in the middle, as often as it is asked to.

Reads one JSON object a line: `at` (the number of the step before which to die), `place` (the
three paths), `changes`. It forks for each, so that the imports are paid for once, and
answers with `killed` or `done`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pygit2  # noqa: F401 - loaded before the forks

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from killing import Steps

from gitmem.git.checkout import Place, RefChange, deciding, mend, move


def _act(order: dict[str, Any]) -> None:
    place = Place(*map(Path, order["place"]))
    Steps(order["at"]).install()
    with deciding(place):
        mend(place)
        move(place, [RefChange(*change) for change in order["changes"]])


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _act(json.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else f"done {status}", flush=True)


if __name__ == "__main__":
    main()
