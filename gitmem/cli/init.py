"""`gitmem init`: sets up the tiers, and takes up a remote's memory where a person says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitmem.cli import common
from gitmem.cli.common import SCOPES, State, emit, emit_json, json_option, note, yes_option
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.layout import Scope
    from gitmem.tiersetup import InitReport, Offer, TierReport

_SHOWN = 10


@click.command
@click.option("--scope", type=click.Choice(SCOPES), help="Only this tier.")
@click.option("--no-remote", is_flag=True, help="Don't ask the host's remote for memory.")
@yes_option
@json_option
@click.pass_obj
def command(
    state: State, *, scope: Scope | None, no_remote: bool, yes: bool, as_json: bool
) -> None:
    """Set up the memory of this project and of the user, or mend it.

    Running it again changes nothing but what is broken. Where the remote of the code has memory
    already, it is shown how much and who approved it, and taken up only if you agree.
    """
    from gitmem import tiersetup

    terminal = common.is_terminal()
    report = tiersetup.init(
        state.path,
        scope=scope,
        ask_remote=not no_remote,
        terminal=terminal,
    )
    if as_json:
        emit_json(_document(report))
    else:
        emit("\n".join(map(_told, report.tiers)))
    for sentence in report.notes:
        note(sentence)
    if report.offer is not None:
        offered = _offered(report.offer)
        if not terminal or yes:
            note(offered)
        state.refuse_agent()
        state.confirm("take it up?", yes=yes, shown=offered)
        tiersetup.take_up(state.path, report.offer, terminal=terminal)
        note(f"the memory of {report.offer.remote} is taken up")


def _told(report: TierReport) -> str:
    place = report.tier.folder or report.tier.git_dir
    done = []
    if report.made:
        back = "brought back" if "brought-back" in report.made else "set up"
        done.append("moved into the repository" if "moved-into-host" in report.made else back)
    if report.mended:
        done.append(f"mended ({', '.join(report.mended)})")
    return visible(f"{report.tier.scope} memory: {' and '.join(done) or 'as it was'}, {place}")


def _offered(offer: Offer) -> str:
    from gitmem.cli.render import counted

    approvers = [f"{visible(name)} ({count})" for name, count in offer.approvers[:_SHOWN]]
    more = len(offer.approvers) - _SHOWN
    approvers += [f"{more} more"] if more > 0 else []
    return (
        f"the remote {visible(offer.remote)} ({visible(offer.url)}) has memory: "
        f"{counted(offer.entries, 'entry')} at {offer.tip[:10]}\n"
        f"approved by: {', '.join(approvers) or 'nobody'}"
    )


def _document(report: InitReport) -> dict[str, Any]:
    offer = report.offer
    return {
        "tiers": [
            {
                "scope": one.tier.scope,
                "repository": str(one.tier.git_dir),
                "folder": str(one.tier.folder) if one.tier.folder is not None else None,
                "made": list(one.made),
                "mended": list(one.mended),
            }
            for one in report.tiers
        ],
        "offer": None
        if offer is None
        else {
            "remote": offer.remote,
            "url": offer.url,
            "commit": offer.tip,
            "entries": offer.entries,
            "approvers": [{"name": name, "count": count} for name, count in offer.approvers],
        },
        "notes": list(report.notes),
    }
