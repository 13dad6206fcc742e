"""What a person sets for a memory: whether approvals are signed, whose keys count, who may approve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gitmem import trust, witness
from gitmem.errors import BadInputError, NotFoundError
from gitmem.git.signatures import PublicKey, ssh_key
from gitmem.model.history import Person
from gitmem.store import Store
from gitmem.trust import Settings, Signer, Trust

EVERYBODY = "everybody"


# -- the settings ------------------------------------------------------------------------------


def set_approval(store: Store, value: str, by: Person) -> Trust:
    """Have approvals count only if they are signed, from now on, or count as they are: `open`.

    What stands on `memory/main` now is exempt. Where no key is listed, that of `by` is: the one
    that git signs with. Raises BadInputError `value-unknown`, RefusedError `not-signed`.
    """
    if value not in ("open", "signed"):
        raise _unknown("approval", value, "open", "signed")
    there = trust.read(store.place.git_dir)
    if value == "open":
        return _changed(store, there, replace(there.settings, approval="open"))
    if not there.signers:
        there = trust.with_signer(there, _own(store, by, by.email))
    start = there.settings.start
    if there.signed and start is not None and store.objects.exists(start):
        return _changed(store, there, there.settings)
    settings = replace(
        there.settings, approval="signed", start=store.main(), closed=_closings(store)
    )
    return _changed(store, there, settings)


def set_approvers(store: Store, value: str, _: Person) -> Trust:
    """Have only these decide: e-mail addresses or names of signers; `everybody` lifts that."""
    names = () if value == EVERYBODY else tuple(value.replace(",", " ").split())
    if not names and value != EVERYBODY:
        raise _unknown("approvers", value, EVERYBODY, "ann@example.org,bob@example.org")
    there = trust.read(store.place.git_dir)
    return _changed(store, there, replace(there.settings, approvers=names))


def set_own_candidates(store: Store, value: str, _: Person) -> Trust:
    """Say whether one may approve what one proposed: `allowed` or `refused`."""
    if value not in ("allowed", "refused"):
        raise _unknown("own-candidates", value, "allowed", "refused")
    there = trust.read(store.place.git_dir)
    return _changed(store, there, replace(there.settings, own_candidates=value == "allowed"))


def set_expire_after(store: Store, value: str, _: Person) -> Trust:
    """Say after how many days `expire` closes a candidate that waits, as `60d`; `off`: never."""
    days = value.removesuffix("d")
    if value != "off" and not (days.isascii() and days.isdigit() and 0 < int(days) < 100_000):
        raise _unknown("expire-after", value, "60d", "off")
    there = trust.read(store.place.git_dir)
    expire_after = None if value == "off" else int(days)
    return _changed(store, there, replace(there.settings, expire_after=expire_after))


SETTERS: dict[str, Callable[[Store, str, Person], Trust]] = {
    "approval": set_approval,
    "approvers": set_approvers,
    "own-candidates": set_own_candidates,
    "expire-after": set_expire_after,
}


def values(settings: Settings) -> dict[str, str]:
    """Each setting by its name, as a person sets it."""
    return {
        "approval": settings.approval,
        "approvers": ",".join(settings.approvers) or EVERYBODY,
        "own-candidates": "allowed" if settings.own_candidates else "refused",
        "expire-after": "off" if settings.expire_after is None else f"{settings.expire_after}d",
    }


def setter(name: str) -> Callable[[Store, str, Person], Trust]:
    """What sets `name`. Raises BadInputError `setting-unknown`."""
    if name in SETTERS:
        return SETTERS[name]
    raise BadInputError(
        "setting-unknown",
        f"there is no setting '{name}'",
        hint=f"one of: {', '.join(SETTERS)}",
    )


def _changed(store: Store, there: Trust, settings: Settings) -> Trust:
    changed = replace(there, settings=settings)
    trust.write(store.place.git_dir, changed)
    return changed


def _unknown(name: str, value: str, *fitting: str) -> BadInputError:
    return BadInputError(
        "value-unknown",
        f"'{value}' is no value of {name}",
        hint=f"for example: {', '.join(fitting)}",
    )


def _closings(store: Store) -> tuple[str, ...]:
    """The closing commits that count now."""
    return tuple(stub.decided for stub in store.closed() if stub.decided is not None)


# -- signers -----------------------------------------------------------------------------------


def add_signer(store: Store, by: Person, name: str | None = None, key: str | None = None) -> Signer:
    """Let the signatures of a key count; gives the signer.

    `key` is an ssh public key, a file with one, or an OpenPGP fingerprint; None: the key that git
    signs with here. `name` is whom it is listed for; None: the address of `by`. Raises
    BadInputError `key-unclear`.
    """
    listed = name if name is not None else by.email
    if not listed.strip() or any(char in listed for char in ' \t\n\r",*?!#'):
        raise BadInputError(
            "name-unclear", f"'{listed}' is no name of a signer", hint="an e-mail address is one"
        )
    signer = _own(store, by, listed) if key is None else _signer(listed, _public_key(key))
    trust.write(store.place.git_dir, trust.with_signer(trust.read(store.place.git_dir), signer))
    return signer


def _own(store: Store, by: Person, name: str) -> Signer:
    return _signer(name, store.signing().own_key(by))


def _signer(name: str, key: PublicKey) -> Signer:
    if key.text == key.fingerprint:
        return Signer(name, key.fingerprint, f"{name} {key.text}")
    return Signer(name, key.fingerprint, f'{name} namespaces="git" {key.text}')


def _public_key(text: str) -> PublicKey:
    compact = text.replace(" ", "").upper().removeprefix("0X")
    if trust.pgp_signer(f"x {compact}") is not None:
        return PublicKey(compact, compact)
    try:
        path = Path(text)
        return ssh_key(path.read_text("utf-8") if path.is_file() else text.removeprefix("key::"))
    except (OSError, ValueError) as error:
        raise BadInputError(
            "key-unclear",
            f"'{text[:80]}' is no public key",
            context=str(error) or None,
            hint="a .pub file, 'ssh-ed25519 AAAA…', or the whole fingerprint of an OpenPGP key",
        ) from error


def remove_signer(store: Store, which: str) -> tuple[Signer, ...]:
    """Let a key count no longer than up to what was seen here; gives what ended.

    `which` is a fingerprint, or a name that only one key has. What the witness has seen stays
    approved: whoever has the key now can't add to it. Raises NotFoundError `no-such-signer`,
    BadInputError `signer-unclear`.
    """
    git_dir = store.place.git_dir
    there = trust.read(git_dir)
    keys = {one.key for one in there.signers if which in (one.key, one.name)}
    if len(keys) > 1:
        raise BadInputError(
            "signer-unclear",
            f"'{which}' has {len(keys)} keys",
            context="\n".join(sorted(keys)),
            hint="name the key",
        )
    if not keys:
        raise NotFoundError(
            "no-such-signer",
            f"no key is listed for '{which}'",
            hint="gitmem signers list shows those that are",
        )
    seen = witness.read(git_dir) or store.main()
    changed = trust.without_signer(there, keys.pop(), seen, _closings(store))
    trust.write(git_dir, changed)
    return tuple(one for one in changed.removed if one not in there.removed)
