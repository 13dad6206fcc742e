"""`gitmem propose`: an agent proposes; nothing is asked here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem import config
from gitmem.cli.common import PRIORITIES, TYPES, State, emit, note, scope_option
from gitmem.errors import BadInputError

if TYPE_CHECKING:
    from gitmem.model.entries import Source


@click.command
@click.argument("key", required=False)
@click.option(
    "--type", "kind", type=click.Choice(TYPES), help="What it is; as it was where the entry exists."
)
@click.option("--body", metavar="TEXT", help="What is to be remembered.")
@click.option("--body-file", metavar="FILE", help="The same, from a file; - is standard input.")
@click.option("--delete", is_flag=True, help="Propose to forget the entry.")
@click.option("--patch", metavar="FILE", help="A unified diff of entries' files; - as above.")
@click.option("--json", "document", metavar="FILE", help="Everything in one document; - as above.")
@click.option("--rationale", metavar="TEXT", help="Why it should be remembered.")
@click.option("--session", metavar="ID", help="The session in which it came up.")
@click.option("--turn", metavar="ID", help="The turn in that session.")
@click.option("--evidence", metavar="TEXT", help="What was said there.")
@click.option("--priority", type=click.Choice(PRIORITIES), help="How urgent it is.")
@click.option("--actor", metavar="NAME", help="Who proposes; 'agent' if nothing is said.")
@click.option(
    "--again", is_flag=True, help="Though it was discarded before; with a new --rationale."
)
@scope_option
@click.pass_obj
def command(
    state: State,
    *,
    key: str | None,
    kind: str | None,
    body: str | None,
    body_file: str | None,
    delete: bool,
    patch: str | None,
    document: str | None,
    rationale: str | None,
    session: str | None,
    turn: str | None,
    evidence: str | None,
    priority: str | None,
    actor: str | None,
    again: bool,
    scope: str | None,
) -> None:
    """Propose an entry, its change or its deletion.

    Prints the candidate's id. What is pending already, or approved already, is not proposed
    twice: the id that there is comes back, with what is new in your evidence added to it. What
    was discarded before is refused with the reason (exit code 5). With --json FILE all of it comes from one document:
    {"rationale", "sources": [{"sessionId", "turnId", "evidence"}], "priority", "actor", "scope",
    "entries": [{"key", "type", "body", "delete"}]}.
    """
    from gitmem.cli.proposal import Proposal, of_json
    from gitmem.memory import Draft

    _check_form(key=key, patch=patch, document=document)
    if body_file is not None:
        if body is not None:
            raise BadInputError("usage", "--body and --body-file don't go together")
        body = state.read_text(body_file)
    diff = None
    if document is not None:
        proposal = of_json(state.read_text(document))
    else:
        drafts = () if key is None else (Draft(key, body, kind, delete),)
        proposal = Proposal(drafts)
        diff = state.read_text(patch) if patch is not None else None
    proposal = proposal.with_options(
        rationale, _sources(session, turn, evidence), priority, actor, scope
    )
    outcome = proposal.make(state.memory, diff, again=again)
    emit(outcome.id)
    if outcome.note:
        note(outcome.note)
    if outcome.dropped is not None:
        note(f"the proposal lies in the drop box: {outcome.dropped}")


def _check_form(*, key: str | None, patch: str | None, document: str | None) -> None:
    given = [form for form in (key, patch, document) if form is not None]
    if len(given) != 1:
        raise BadInputError(
            "usage",
            "propose wants a KEY, --patch or --json" if not given else "propose wants one of them",
            hint="one of: gitmem propose KEY …, --patch FILE, --json FILE",
        )


def _sources(session: str | None, turn: str | None, evidence: str | None) -> tuple[Source, ...]:
    from gitmem.model.entries import Source

    session = session or config.session()
    if session is None and turn is None and evidence is None:
        return ()
    return (Source(session, turn, evidence),)
