"""`gitmem signers`: whose signatures count where approvals must be signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli.common import State, emit, emit_json, json_option, scope_option, yes_option
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.trust import Signer


@click.group
def command() -> None:
    """List, add or remove the keys whose signatures count."""


@command.command("list")
@scope_option
@json_option
@click.pass_obj
def list_(state: State, *, scope: str | None, as_json: bool) -> None:
    """List the keys, also the removed ones, and the folder in which the lists lie."""
    from gitmem import trust

    documents = []
    for store in state.memory.stores(scope):
        found = trust.read(store.place.git_dir)
        place = trust.folder(store.place.git_dir)
        signers = (*found.signers, *found.removed)
        documents.append(
            {"tier": store.tier, "folder": str(place), "signers": [_json(one) for one in signers]}
        )
        if signers and not as_json:
            emit(visible(f"{store.tier} memory, in {place}"))
            emit("\n".join(f"  {_shown(one)}" for one in signers))
    if as_json:
        emit_json(documents)


@command.command
@click.argument("name", required=False)
@click.argument("key", required=False)
@scope_option
@yes_option
@click.pass_obj
def add(state: State, *, name: str | None, key: str | None, scope: str | None, yes: bool) -> None:
    """Let the signatures of KEY count, listed for NAME.

    KEY is a .pub file, an ssh public key, or the whole fingerprint of an OpenPGP key that is in
    your keyring. Without it, the key that git signs with here, and without NAME your address.
    """
    from gitmem import settings

    by = state.decider()
    store = state.memory.store(scope or state.memory.default_scope())
    about = f"the key {key}" if key is not None else "the key that git signs with here"
    state.confirm(f"let {about} approve {store.tier} memory?", yes=yes)
    emit(f"added to {store.tier}: {_shown(settings.add_signer(store, by, name, key))}")


@command.command
@click.argument("signer")
@scope_option
@yes_option
@click.pass_obj
def remove(state: State, *, signer: str, scope: str | None, yes: bool) -> None:
    """Let the key SIGNER, a name or a fingerprint, count no longer.

    What it approved up to what this machine has seen of memory/main stays approved.
    """
    from gitmem import settings

    state.refuse_agent()
    store = state.memory.store(scope or state.memory.default_scope())
    state.confirm(f"let {signer} approve no more {store.tier} memory?", yes=yes)
    for one in settings.remove_signer(store, signer):
        emit(f"removed from {store.tier}: {_shown(one)}")


def _shown(one: Signer) -> str:
    dates = f", {one.dates}" if one.dates is not None else ""
    until = f", removed, counts up to {one.until[:12]}" if one.until is not None else ""
    return visible(f"{one.name} {one.key}{dates}{until}")


def _json(one: Signer) -> dict[str, str | None]:
    return {"name": one.name, "key": one.key, "dates": one.dates, "until": one.until}
