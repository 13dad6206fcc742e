"""Every event that a test makes must fit the schema that is shipped: `check_all` sees to it."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import gitmem
from gitmem.model import events
from gitmem.model.events import Event

PATH = Path(gitmem.__file__).parent / "schema" / "events.json"


@functools.cache
def validator(name: str | None = None) -> Draft202012Validator:
    """The validator of a line of a log, or of the one definition `name`."""
    schema = json.loads(PATH.read_text(encoding="utf-8"))
    if name is not None:
        del schema["oneOf"]
        schema["$ref"] = f"#/$defs/{name}"
    return Draft202012Validator(schema)


def check(document: Mapping[str, Any]) -> None:
    """Raise where an event does not fit."""
    validator(document["kind"]).validate(json.loads(json.dumps(document)))


def check_all() -> None:
    """Have each event checked where it is derived, and where it is made ready for JSON."""
    derived, to_json = events._Log.events, events.to_json

    def checked_events(log: Any) -> Iterator[tuple[str, list[Event]]]:
        for commit, found in derived(log):
            for event in found:
                check(to_json(event))
            yield commit, found

    def checked_to_json(*args: Any) -> dict[str, Any]:
        document = to_json(*args)
        check(document)
        return document

    events._Log.events = checked_events  # type: ignore[method-assign]
    events.to_json = checked_to_json
