"""`gitmem config`: what a person sets for a memory."""

from __future__ import annotations

import click

from gitmem.cli.common import State, emit, emit_json, json_option, scope_option, yes_option

# As `settings.SETTERS`: a test compares them.
NAMES = ("approval", "approvers", "own-candidates", "expire-after")


@click.command
@click.argument("name", required=False, type=click.Choice(NAMES))
@click.argument("value", required=False)
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(
    state: State,
    *,
    name: str | None,
    value: str | None,
    scope: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Show or change the settings of a memory.

    They lie in your own configuration, never in the memory's repository: who can write there
    could decide what counts. With a VALUE, the project's memory is set, or the one of --scope.

    approval: 'open', or 'signed': approvals count only with a good signature of an allowed
    signer, from now on. approvers: who may decide, addresses with commas between them, or
    'everybody'. own-candidates: whether one may approve what one proposed, 'allowed' or 'refused'.
    expire-after: after how many days 'gitmem expire' closes what still waits, as 60d, or 'off'.
    """
    from gitmem import settings, trust

    if name is not None and value is not None:
        by = state.decider()
        store = state.memory.store(scope or state.memory.default_scope())
        set_value = settings.setter(name)
        state.confirm(f"set {name} of the {store.tier} memory to {value}?", yes=yes)
        shown = {store.tier: set_value(store, value, by)}
    else:
        shown = {
            store.tier: trust.read(store.place.git_dir) for store in state.memory.stores(scope)
        }
    documents = {
        tier: {
            key: text
            for key, text in settings.values(found.settings).items()
            if name in (None, key)
        }
        for tier, found in shown.items()
    }
    if as_json:
        emit_json(documents)
        return
    for tier, document in documents.items():
        for key, text in document.items():
            since = shown[tier].settings.start if text == "signed" else None
            emit(f"{tier:8} {key:15} {text}{f', after {since[:12]}' if since else ''}")
