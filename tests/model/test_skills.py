"""Which tiers a skill asks for."""

from __future__ import annotations

import pytest

from gitmem.errors import BadInputError
from gitmem.model.skills import tiers_wanted
from gitmem.model.tiers import TIERS


@pytest.mark.parametrize(
    ("value", "tiers"),
    [
        (" [user, project]", ("user", "project")),
        (" [project, user]", ("user", "project")),
        (" user", ("user",)),
        (' "session"', ("session",)),
        (" user, project", ("user", "project")),
        (" [user, user] # twice", ("user",)),
        ("\n  - project\n  - session", ("project", "session")),
        ("\n- project\n\n- user", ("user", "project")),
        (" [user,\n  project\n]", ("user", "project")),
        (" []", ()),
        ("", TIERS),
        (" null", TIERS),
        (" ''", TIERS),
    ],
)
def test_tiers_are_read_in_every_form(value: str, tiers: tuple[str, ...]) -> None:
    """A name, a list in either form or names with commas give the tiers in their order."""
    text = f"---\nname: x\nmemory:{value}\nlicense: MIT\n---\n# Title\n"

    assert tiers_wanted(text) == tiers


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Title\n\nmemory: [user]\n",
        "---\nname: x\ndescription: uses memory: well\n---\n",
        "---\nname: x\nmemory: [user]\n",
        "---\nname: x\n---\nmemory: [user]\n---\n",
        "---\ndescription: |\n  memory: [user]\n---\n",
        "---\nmemory-size: 3\nmemory:user\n---\n",
        "Text\n---\nmemory: [user]\n---\n",
    ],
)
def test_all_tiers_where_nothing_is_said(text: str) -> None:
    """Without the key in a front matter at the top, a skill gets all tiers."""
    assert tiers_wanted(text) == TIERS


@pytest.mark.parametrize(
    "text",
    [
        "---\ndescription: Use when: asked [now\n\t- bad\nmemory: [user]\n---\n",
        "---\nsince: 2026-13-45\nx: *nowhere\nmemory: [user]\n---\n",
        "\ufeff---\r\nname: x\r\nmemory: [user]\r\n---\r\nbody\r\n",
        "\n\n--- \nmemory: [user]\n...\n",
        '---\n"memory": [user]\nname: x\nname: y\n---\n',
    ],
)
def test_faults_of_other_keys_do_not_matter(text: str) -> None:
    """Front matter as people write it, invalid YAML included, does not hide the key."""
    assert tiers_wanted(text) == ("user",)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (" [user, team]", "'team', which is no tier"),
        (" local", "'local', which is no tier"),
        (" [1]", "neither a tier nor a list"),
        (" true", "neither a tier nor a list"),
        (" {user: yes}", "neither a tier nor a list"),
        (" [user", "no valid YAML"),
        (" 2026-13-45", "no valid YAML"),
        (" *anchor", "no valid YAML"),
        (" " + "[" * 400, "no valid YAML"),
        (" " + "user," * 200, "longer than 500 characters"),
        (" user\nmemory: project", "holds 'memory' twice"),
    ],
)
def test_anything_but_tiers_is_refused(value: str, said: str) -> None:
    """An unknown tier or another kind of value is bad input that says what to write."""
    with pytest.raises(BadInputError, match=said) as caught:
        tiers_wanted(f"---\nmemory:{value}\n---\n")

    assert caught.value.reference == "skill-invalid"
    assert (
        caught.value.hint
        == "write memory: [user, project, session] with the tiers that the skill needs"
    )
