"""Which tiers of memory a skill asks for, from the front matter of its file."""

from __future__ import annotations

import re

from gitmem.errors import BadInputError
from gitmem.model.tiers import TIERS

_FRONT_MATTER = re.compile(r"\s*^---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)

# The key at the beginning of a line, with the lines that continue its value.
_SECTION = re.compile(
    r"""^(?:memory|"memory"|'memory')[ \t]*:(?=\s|$).*(?:\n(?:[ \t].*|[-\]#].*|[ \t]*(?=\n)))*""",
    re.MULTILINE,
)

# More than any list of tiers needs, and little enough for PyYAML at its slowest.
_MAX_SECTION = 500


def tiers_wanted(text: str) -> tuple[str, ...]:
    """The tiers that a skill file asks for (`memory: [user, project]`), in the order of tiers.

    One name, a list, or names with commas between them. All tiers where there is no front matter,
    no such key, or nothing behind it; none for an empty list. The rest of the front matter is other
    tools' and often no valid YAML (`description: Use when: …`), so only this key is read.
    BadInputError `skill-invalid` where it names anything but tiers.
    """
    section = _memory_section(text)
    if section is None:
        return TIERS
    names = _names(_value(section))
    if names is None:
        return TIERS
    unknown = [name for name in names if name not in TIERS]
    if unknown:
        raise _invalid(f"a skill asks for the memory of '{unknown[0]}', which is no tier")
    return tuple(tier for tier in TIERS if tier in names)


def _memory_section(text: str) -> str | None:
    unified = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    front_matter = _FRONT_MATTER.match(unified)
    if front_matter is None:
        return None
    sections = [match[0] for match in _SECTION.finditer(front_matter[1])]
    if len(sections) > 1:
        raise _invalid("a skill's front matter holds 'memory' twice")
    return sections[0] if sections else None


def _value(section: str) -> object:
    if len(section) > _MAX_SECTION:
        raise _invalid(
            f"the 'memory' of a skill's front matter is longer than {_MAX_SECTION} characters"
        )
    # Twenty milliseconds that only a skill with this key has to pay.
    import yaml

    try:
        document = yaml.safe_load(section)
    # PyYAML lets the faults of dates, numbers and deep nesting through as they come.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _invalid("the 'memory' of a skill's front matter is no valid YAML") from error
    return document["memory"] if isinstance(document, dict) else document


def _names(value: object) -> list[str] | None:
    """The names in `value`, or None where it is empty."""
    if value is None:
        return None
    if isinstance(value, str):
        return [name for name in re.split(r"[,\s]+", value.strip()) if name] or None
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return [name.strip() for name in value]
    raise _invalid("the 'memory' of a skill's front matter is neither a tier nor a list of tiers")


def _invalid(message: str) -> BadInputError:
    return BadInputError(
        "skill-invalid",
        message,
        hint=f"write memory: [{', '.join(TIERS)}] with the tiers that the skill needs",
    )
