"""`gitmem edit`: changes a candidate, which anybody may, or an entry, which a person decides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from gitmem import clock, config
from gitmem.cli import common, naming
from gitmem.cli.common import State, emit, emit_json, json_option, scope_option, yes_option
from gitmem.errors import BadInputError
from gitmem.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitmem.memory import Memory
    from gitmem.model.candidates import Candidate
    from gitmem.model.history import Person


@click.command
@click.argument("name", metavar="ID|ENTRY")
@click.option(
    "--body-file", metavar="FILE", help="The new body, instead of an editor; - is standard input."
)
@click.option("--entry", metavar="ENTRY", help="Which entry of the candidate; all by default.")
@click.option(
    "--onto-main", is_flag=True, help="Settle a conflict: put the candidate onto today's memory."
)
@click.option("--note", "why", metavar="TEXT", default="", help="Why; it stands in the history.")
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(
    state: State,
    *,
    name: str,
    body_file: str | None,
    entry: str | None,
    onto_main: bool,
    why: str,
    scope: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Change a candidate, or an approved entry.

    A candidate gets a further commit and stays pending. An entry is proposed and approved in one,
    which only a person does. A file that is emptied is a deletion.
    """
    found = naming.resolve(state.memory, name, scope)
    if isinstance(found, naming.Approved):
        by = state.decider()
        data = _new_text(state, found.key, found.text, body_file, found.store.tier)
        state.confirm(f"change {found.id} in the {found.store.tier} memory?", yes=yes)
        decision = state.memory.rewrite(
            found.key, data, by=by, rationale=why or "edited by hand", scope=found.store.tier
        )
        common.report(decision, "edited", as_json=as_json)
        return
    by, actor = _editor(state.memory)
    if onto_main:
        texts = _settled(state, found, body_file)
        commit = state.memory.settle(found.id, texts, by=by, actor=actor, scope=found.tier)
    else:
        texts = _texts(state, found, entry, body_file)
        commit = state.memory.edit(found.id, texts, by=by, actor=actor, note=why, scope=found.tier)
    _report(state, found, commit, texts, as_json=as_json)


def _editor(memory: Memory) -> tuple[Person, str]:
    """Who edits a candidate: the user, or the agent that drives and needs no git identity."""
    from gitmem.proposals import DEFAULT_ACTOR, actor_person

    if config.driving_agent() is not None:
        return actor_person(DEFAULT_ACTOR, clock.now()), DEFAULT_ACTOR
    return memory.person(), "user"


def _texts(
    state: State, found: Candidate, entry: str | None, body_file: str | None
) -> dict[str, bytes | None]:
    """The new texts of a candidate's entries, or of one of them."""
    store = state.memory.store(found.tier)
    chosen = [item for item in found.entries if entry in (None, item.id, item.key)]
    if not chosen:
        raise BadInputError(
            "entry-not-in-candidate",
            f"{found.id} changes no entry '{entry}'",
            hint=f"it changes {', '.join(item.id for item in found.entries) or 'none'}",
        )
    if body_file is not None and len(chosen) > 1:
        raise BadInputError(
            "entry-unclear",
            f"{found.id} has {len(chosen)} entries",
            hint=f"say which: --entry {chosen[0].id}",
        )
    return {
        item.key: _new_text(
            state,
            item.key,
            store.text(item.content if item.content is not None else item.base) or "",
            body_file,
            found.tier,
        )
        for item in chosen
    }


def _settled(state: State, found: Candidate, body_file: str | None) -> dict[str, bytes | None]:
    """What a person makes of the entries in which a candidate conflicts."""
    from gitmem.cli.editing import without_markers

    texts: dict[str, bytes | None] = {}
    for item in state.memory.unsettled(found.id, scope=found.tier):
        if body_file is not None:
            front = item.proposed or item.approved or item.base or ""
            texts[item.key] = _new_text(state, item.key, front, body_file, found.tier)
            continue
        data = _in_editor(state, item.key, item.text)
        texts[item.key] = data if data is None else without_markers(item.key, data)
    return texts


def _new_text(state: State, key: str, text: str, body_file: str | None, tier: str) -> bytes | None:
    if body_file is None:
        return _in_editor(state, key, text)
    from gitmem.model import entries

    body = state.read_text(body_file)
    entry = entries.parse(key, text.encode(), tier=tier)
    return entries.serialize(replace(entry, body=body))


def _in_editor(state: State, key: str, text: str) -> bytes | None:
    from gitmem.cli.editing import edited

    return edited(state.memory, key, text)


def _report(
    state: State, found: Candidate, commit: str, changed: Iterable[str], *, as_json: bool
) -> None:
    from gitmem import ids

    entries = [ids.entry_id(key) for key in changed]
    if as_json:
        digest = state.memory.candidate(found.id, scope=found.tier).digest
        emit_json(
            {
                "commit": commit,
                "candidate": found.id,
                "entries": entries,
                "left": [],
                "digest": digest,
            }
        )
    elif commit == found.commit:
        emit(visible(f"{found.id} is as it was"))
    else:
        emit(visible(f"edited {found.id} ({commit[:10]}): {', '.join(entries)}"))
