"""The keys of a review, typed by a script: each line is a key. tests/cli/test_review.py has a terminal."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.cli.common import STATES
from gitmem.memory import open_memory

NO_MORE = "0 candidates to decide"


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`editor(script)`: the user's editor is a sed with that script; it notes what it was shown."""

    def editor(script: str) -> Path:
        seen = tmp_path / "seen by the editor"
        command = f'cp "$1" {shlex.quote(str(seen))}; sed -i {shlex.quote(script)} "$1"; :'
        monkeypatch.setenv("GIT_EDITOR", f"sh -c {shlex.quote(command)} editor")
        return seen

    return editor


def review(cli: Any, *lines: str) -> str:
    """What a review prints in which these lines are typed."""
    return str(cli.done("review", input="".join(f"{line}\n" for line in lines)))


def states(cli: Any) -> dict[str, str]:
    """The state of each candidate by the first entry that it is about."""
    listed = cli.json("list", "--state", "all")
    return {one["entries"][0].removeprefix("mem_"): one["state"] for one in listed}


def test_nothing_waits(cli: Any) -> None:
    """An empty queue is no error."""
    result = cli("review")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "no candidate waits for a decision\n"


def test_apply(cli: Any) -> None:
    """One key a candidate; the screen says what it does."""
    cli.propose("a", "A.")
    cli.propose("b", "B.")

    said = review(cli, "y", "y").split("\n")

    assert said[0].startswith("-- 2 to go -- cand_2026_00000001 --")
    assert said[1:4] == [
        "new       mem_a  project preference",
        "          {+A.+}",
        "why       The user said so.",
    ]
    assert "applied cand_2026_00000001" in said
    assert said[-1] == f"2 applied; {NO_MORE}"
    assert states(cli) == {"a": "applied", "b": "applied"}


@pytest.mark.parametrize("keys", [[""], ["x"], ["q"], [], ["?"], ["p"], [" "], ["", "", "q"]])
def test_what_decides_nothing(cli: Any, keys: list[str]) -> None:
    """A bare Enter, an unknown key, the end of the input and all looking around."""
    cli.propose()
    before = cli.done("log")

    said = review(cli, *keys)

    assert said.endswith("nothing decided; 1 candidate to decide")
    assert cli.done("log") == before


@pytest.mark.parametrize(
    ("typed", "reason", "never"),
    [
        ("", None, False),
        ("too vague", "too vague", False),
        ("! no, never", "no, never", True),
        ("!", None, True),
    ],
)
def test_discard(cli: Any, typed: str, reason: str | None, never: bool) -> None:
    """A reason may be given; it can also be for good."""
    id_ = cli.propose()

    said = review(cli, "n", typed)

    assert said.endswith(f"1 discarded; {NO_MORE}")
    assert cli.json("show", id_)["reason"] == reason
    assert cli.json("show", id_)["state"] == "discarded"
    assert open_memory(cli.at).candidate(id_).never is never


def test_no_discard_after_all(cli: Any) -> None:
    """The end of the input at the question why leaves it as it is."""
    cli.propose()

    assert review(cli, "n").endswith("nothing decided; 1 candidate to decide")
    assert states(cli) == {"pref_indent": "pending"}


def test_later(cli: Any) -> None:
    """What is left for later is not shown again, and still counts."""
    cli.propose("a", "A.")
    cli.propose("b", "B.")

    said = review(cli, " ", "y")

    assert said.endswith("1 applied; 1 candidate to decide")
    assert states(cli) == {"a": "pending", "b": "applied"}


@pytest.mark.parametrize("decision", [("y",), ("n", "no")])
def test_undo(cli: Any, decision: tuple[str, ...]) -> None:
    """The last decision is taken back, and its candidate is shown again."""
    cli.propose("a", "A.")
    cli.propose("b", "B.")

    said = review(cli, *decision, "u", "q")

    assert "cand_2026_00000001 waits again" in said
    assert said.endswith("nothing decided; 2 candidates to decide")
    assert states(cli) == {"a": "pending", "b": "pending"}
    assert cli.done("context") == ""


def test_undo_is_there_when_something_was_decided(cli: Any) -> None:
    """Before that the key is none."""
    cli.propose()

    said = review(cli, "u", "q")

    assert "apply it? [y,n,e,v,p,space,/,q,?]" in said
    assert "That key decides nothing; ? lists those that are there." in said


def test_edit(cli: Any, editor: Any) -> None:
    """What is saved is shown again before anything is applied."""
    cli.propose()
    seen = editor("s/4/2/")

    said = review(cli, "e", "y")

    assert seen.read_text(encoding="utf-8").endswith("\nUse 4 spaces.\n")
    assert said.count("mem_pref_indent") == 2
    assert "{+Use 2 spaces.+}" in said
    assert cli.done("context") == "[memory:project:preference]\nUse 2 spaces."


def test_an_editor_that_fails(cli: Any) -> None:
    """Nothing is changed, and the candidate is there as before."""
    cli.propose()

    said = review(cli, "e", "y")

    assert "error: the editor ended with exit code 1, so nothing is changed" in said
    assert said.endswith(f"1 applied; {NO_MORE}")
    assert cli.done("context") == "[memory:project:preference]\nUse 4 spaces."


def test_an_edit_that_is_no_entry(cli: Any, editor: Any) -> None:
    """A slip does not cost the text that was typed: the editor opens with it again."""
    cli.propose()
    seen = editor("s/^type: .*/type: idea/; s/4/2/")

    said = review(cli, "e", "y", "n", "q")

    assert "'idea' is no type" in said
    assert "edit it again? [y,n]" in said
    assert seen.read_text(encoding="utf-8").endswith("\nUse 2 spaces.\n")
    assert cli.json("show", cli.json("list")[0]["id"])["files"]["mem_pref_indent"].endswith(
        "\nUse 4 spaces.\n"
    )


def test_a_conflict(cli: Any, editor: Any) -> None:
    """Both sides are shown; it can't be applied, but settled on the spot."""
    first, second = cli.propose("a", "Use make."), cli.propose("a", "Use tox.")
    cli.done("apply", first, "--yes")
    editor("/^<<<<<<< /,/^=======/d; /^>>>>>>> /d; s/tox/tox or nox/")

    said = review(cli, "y", "e", "y")

    assert "conflict  mem_a  project preference: " in said
    assert "approved  {+Use make.+}" in said
    assert "wanted    {+Use tox.+}" in said
    assert "what now? [n,e,v,p,space,/,q,?]" in said
    assert "Use [-make-]{+tox or nox+}." in said
    assert states(cli) == {"a": "applied"}
    assert cli.json("show", second)["state"] == "applied"
    assert cli.done("context") == "[memory:project:preference]\nUse tox or nox."


def test_a_conflict_that_is_not_settled(cli: Any, editor: Any) -> None:
    """Markers must be gone, and what was typed is not lost."""
    first, _ = cli.propose("a", "Use make."), cli.propose("a", "Use tox.")
    cli.done("apply", first, "--yes")
    editor("s/tox/nox/")

    said = review(cli, "e", "n", "q")

    assert "the text still has conflict markers" in said
    assert cli.json("list")[0]["conflicts"] == ["mem_a"]


def test_many_entries(cli: Any) -> None:
    """A list to walk through; what was not shown yet is shown before all of it is applied."""
    entries = [{"key": f"e{n:02}", "type": "fact", "body": f"Rule {n}."} for n in range(60)]
    cli.done("propose", "--json", "-", input=json.dumps({"rationale": "r", "entries": entries}))

    said = review(cli, "j", "j", "k", "y", "y")

    assert "-- 1 to go -- cand_2026_00000001 -- its entries --" in said
    assert "-- 1 to go -- cand_2026_00000001 -- entry 2 of 60 --" in said
    assert said.count("{+Rule 1.+}") == 1
    assert said.count("{+Rule 0.+}") == 2
    assert all(f"{{+Rule {n}.+}}" in said for n in range(60))
    assert "these are all of its 60 entries: apply them? [y,n]" in said
    assert said.endswith(f"1 applied; {NO_MORE}")


def test_an_entry_of_many_in_the_editor(cli: Any, editor: Any) -> None:
    """Of a list, the entry on the screen is edited."""
    entries = [{"key": f"e{n:02}", "type": "fact", "body": "Rule."} for n in range(30)]
    id_ = cli.done(
        "propose", "--json", "-", input=json.dumps({"rationale": "r", "entries": entries})
    )
    editor("s/Rule/Law/")

    review(cli, "j", "j", "e", "q")

    files = cli.json("show", id_)["files"]
    assert [name for name, text in files.items() if "Law." in text] == ["mem_e01"]


def test_search(cli: Any) -> None:
    """The next candidate that says it comes to the front; once more finds the one behind."""
    for key, body in (("a", "One."), ("b", "Tabs here."), ("c", "Three."), ("d", "No TABS.")):
        cli.propose(key, body)

    said = review(cli, "/", "tabs", "/", "", "/", "spaces", "q")

    order = [line.split()[1] for line in said.splitlines() if line.startswith("new ")]
    assert order == ["mem_a", "mem_b", "mem_d"]
    assert "none of those left says 'spaces'" in said


def test_the_evidence_in_its_transcript(cli: Any, sealed_home: Path) -> None:
    """What was said around it, from the tool's own file; else that there is none."""
    folder = sealed_home / ".claude" / "projects" / "-shop"
    folder.mkdir(parents=True)
    said = {"type": "user", "message": {"role": "user", "content": "Four spaces, please.\x1b[2J"}}
    (folder / "s1.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")
    cli.propose("a", "A.", "--session", "s1", "--evidence", "Four spaces")
    cli.propose("b", "B.", "--session", "s2", "--evidence", "Two")
    cli.propose("c", "C.", "--session", "s1", "--evidence", "Delete all tests")

    shown = review(cli, "v", " ", "v", " ", "v", "q")

    assert f"{folder / 's1.jsonl'}, line 1" in shown.replace("\n", "")
    assert "user      Four spaces, please.<U+001B>[2J" in shown
    assert "no transcript of session s2 is here" in shown
    assert "says nothing of the kind; it begins:" in shown.replace("\n", " ")


def test_changed_while_reading(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not on the screen is not applied: it is shown again."""
    from gitmem.cli.terminal import Terminal

    id_ = cli.propose()
    key, typed = Terminal.key, iter(["y"])

    def late(terminal: Terminal, prompt: str) -> str:
        for _ in typed:
            cli.done("edit", id_, "--body-file", "-", input="Use 3 spaces.")
        return key(terminal, prompt)

    monkeypatch.setattr(Terminal, "key", late)
    said = review(cli, "y", "q")

    assert "It has changed while you were reading. This is what it is now:" in said
    assert said.index("{+Use 4 spaces.+}") < said.index("{+Use 3 spaces.+}")
    assert states(cli) == {"pref_indent": "pending"}


def test_decided_by_somebody_else(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided meanwhile is left behind."""
    from gitmem.cli.terminal import Terminal

    first = cli.propose("a", "A.")
    cli.propose("b", "B.")
    key, typed = Terminal.key, iter(["y"])

    def late(terminal: Terminal, prompt: str) -> str:
        for _ in typed:
            cli.done("discard", first, "--yes")
        return key(terminal, prompt)

    monkeypatch.setattr(Terminal, "key", late)
    said = review(cli, "y", "y")

    assert f"error: {first} is discarded, not pending" in said
    assert said.endswith(f"1 applied; {NO_MORE}")


@pytest.mark.usefixtures("agent")
def test_agents_are_refused(cli: Any) -> None:
    """Only a person reviews."""
    cli.propose()

    assert cli.error("review", input="y\n") == "person-needed"
    assert states(cli) == {"pref_indent": "pending"}


KEYS = st.sampled_from(
    ["y", "n", "", "u", " ", "e", "v", "j", "k", "p", "/", "?", "a", "s", "m", "x"]
)


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(KEYS, max_size=12))
def test_whatever_is_typed(cli: Any, cli_at: Any, tmp_path: Path, typed: list[str]) -> None:
    """Each candidate ends in one state, nothing is applied without a `y`, and the counts are true."""
    copy = shutil.copytree(cli.at, tmp_path / uuid.uuid4().hex, symlinks=True)
    there = cli_at(copy)
    for key in ("a", "b", "c"):
        there.propose(key, f"{key.upper()}.", "--session", "s1")

    result = there("review", input="".join(f"{line}\n" for line in typed))

    listed = there.json("list", "--state", "all")
    counted = {state: sum(one["state"] == state for one in listed) for state in STATES}
    applied = [entry["id"] for entry in there.json("context")["entries"]]
    assert result.exit_code == 0
    assert sum(counted.values()) == len(listed) >= 3
    assert counted["applied"] == len(applied)
    assert not applied or "y" in typed
    waiting = result.stdout.removesuffix("\n").rpartition("\n")[2].partition("; ")[2]
    number = counted["pending"]
    assert waiting == f"{number} candidate{'' if number == 1 else 's'} to decide"


def propose_many(cli: Any, *keys: str, rationale: str = "r") -> str:
    """A candidate of several entries."""
    entries = [{"key": key, "type": "fact", "body": f"Rule {key}."} for key in keys]
    document = json.dumps({"rationale": rationale, "entries": entries})
    return str(cli.done("propose", "--json", "-", input=document))


def test_split(cli: Any) -> None:
    """What stays is decided first; the rest waits and is shown after it."""
    id_ = propose_many(cli, "a", "b", "c")

    said = review(cli, "s", "y", "n", "n", "y", "n", "no")

    assert "keep mem_a in it? [y,n,q] y" in said
    assert "cand_2026_00000002 has the other 2 entries" in said
    assert said.endswith(f"1 applied, 1 discarded; {NO_MORE}")
    assert cli.json("show", id_)["entries"] == ["mem_a"]
    assert cli.json("show", "cand_2026_00000002")["entries"] == ["mem_b", "mem_c"]


@pytest.mark.parametrize("keys", [("q",), ("y", "q"), ("y", "y", "y"), ("n", "n", "n")])
def test_no_split(cli: Any, keys: tuple[str, ...]) -> None:
    """Who thinks better of it, or keeps all or none, has changed nothing."""
    id_ = propose_many(cli, "a", "b", "c")
    before = cli.json("show", id_)["commit"]

    said = review(cli, "s", *keys, "q")

    assert said.endswith("nothing decided; 1 candidate to decide")
    assert cli.json("show", id_)["commit"] == before


def test_rivals(cli: Any) -> None:
    """Candidates for one entry stand on one screen; a number goes to the other one."""
    first = cli.propose("r", "Use tox.", "--rationale", "It is there.")
    second = cli.propose("r", "Use nox.", "--rationale", "It is newer.")

    said = review(cli, "1", "y", "n", "")

    screen = said[: said.index("\napply it?")]
    assert f"-- 2 to go -- {first} --" in screen
    assert f"or 1      {second}  by agent, " in screen
    assert "{+Use tox.+}" in screen
    assert "{+Use nox.+}" in screen
    assert "why       It is newer." in screen
    assert "apply it? [y,n,e,m,v,p,space,/,q,?,1] 1" in said
    assert states(cli)["r"] in ("applied", "discarded")
    assert cli.json("show", second)["state"] == "applied"
    assert cli.json("show", first)["state"] == "discarded"


def test_a_rival_that_says_the_same(cli: Any, editor: Any) -> None:
    """What has nothing left to say is closed as superseded, not shown again."""
    first, second = cli.propose("r", "Use tox."), cli.propose("r", "Use tox!")
    editor("s/tox!/tox./")

    said = review(cli, "1", "e", "y")

    assert f"{first} says what is approved now: closed as superseded" in said
    assert said.endswith(f"1 applied; {NO_MORE}")
    assert cli.json("show", first)["supersededBy"] == second


def test_what_is_done_with(cli: Any) -> None:
    """What approved memory says by now is not shown, and is closed with the next decision."""
    done = cli.propose("a", "Use tox.")
    other = cli.propose("a", "Use tox!")
    cli.done("edit", other, "--body-file", "-", input="Use tox.")
    # As a merge with plain git does: `gitmem apply` would close it at once.
    memory = open_memory(cli.at)
    memory.apply(other, by=memory.person())
    cli.propose("b", "B.")

    assert review(cli, "q").endswith("nothing decided; 1 candidate to decide")
    assert cli.json("show", done)["state"] == "pending"
    said = review(cli, "y")

    assert f"{done} says what is approved now: closed as superseded" in said
    assert cli.json("show", done)["state"] == "superseded"


def test_a_batch(cli: Any) -> None:
    """Single ones are taken out, the rest is listed in full and applied on one `y`."""
    for key in ("a", "b", "c", "d"):
        cli.propose(key, f"The rule {key * 9}.", "--session", "s1")
    alone = cli.propose("e", "Elsewhere.")

    said = review(cli, "n", "", "a", "y", "q")

    assert "-- 4 of project s1 --" in said
    listing = said[said.index("[y,n,e,v,u,a,") :]
    assert all(f"{{+The rule {key * 9}.+}}" in listing for key in ("b", "c", "d"))
    assert "apply these 3 candidates? [y,n] y" in said
    assert said.endswith("1 discarded, 3 applied; 1 candidate to decide")
    assert cli.json("list")[0]["id"] == alone


def test_a_batch_after_all_not(cli: Any) -> None:
    """Looking at the list decides nothing."""
    for key in ("a", "b"):
        cli.propose(key, f"The rule {key * 9}.", "--session", "s1")

    said = review(cli, "a", "n", "q")

    assert said.endswith("nothing decided; 2 candidates to decide")


def test_a_batch_of_which_one_changes(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly what was listed is applied: what has changed since is shown again."""
    from gitmem.cli.terminal import Terminal

    for key in ("a", "b"):
        last = cli.propose(key, f"The rule {key * 9}.", "--session", "s1")
    key_of, late = Terminal.key, iter(["once"])

    def key(terminal: Terminal, prompt: str) -> str:
        if prompt.startswith("apply these"):
            for _ in late:
                cli.done("edit", last, "--body-file", "-", input="Evil.")
        return key_of(terminal, prompt)

    monkeypatch.setattr(Terminal, "key", key)
    said = review(cli, "a", "y", "q")

    assert "It has changed while you were reading. This is what it is now:" in said
    assert said.endswith("1 applied; 1 candidate to decide")
    assert states(cli) == {"a": "applied", "b": "pending"}


def test_merge_into_a_neighbour(cli: Any, editor: Any) -> None:
    """A near entry is named, and the text can go into it."""
    cli.apply("commits", "Commit messages are written in English.")
    id_ = cli.propose("messages", "Commit messages are always written in English.")
    seen = editor("s/^Commit messages are always.*/Always./")

    said = review(cli, "m", "y")

    assert "near      1 mem_commits (approved, " in said
    text = seen.read_text(encoding="utf-8")
    assert "\nCommit messages are written in English.\n\nCommit messages are always" in text
    assert "change    mem_commits  project preference" in said
    assert cli.json("show", id_)["state"] == "applied"
    assert cli.done("context") == (
        "[memory:project:preference]\nCommit messages are written in English.\n\nAlways."
    )


def test_merge_into_one_of_several(cli: Any, editor: Any) -> None:
    """Which one is asked; the other candidate has the text then, and is shown next."""
    one = cli.propose("one", "Commit messages are written in English.")
    cli.propose("two", "Commit messages are written in plain English.")
    three = cli.propose("three", "Commit messages are written in British English.")
    editor("")

    said = review(cli, "/", "three", "m", "9", "m", "1", "q")

    assert said.count("into which neighbour? [1,2]") == 2
    assert f"{three} is closed as superseded" in said
    into = cli.json("show", three)["supersededBy"]
    assert into != three
    assert f"-- 2 to go -- {into} --" in said
    assert one in (into, one)


def test_what_was_dropped(cli: Any) -> None:
    """Files in the drop box are taken up first."""
    box = cli.at / ".custom-agent" / "candidates"
    box.mkdir(parents=True)
    text = "---\nid: mem_a\ntype: fact\nrationale: because\n---\n\nA.\n"
    (box / "good.md").write_text(text, encoding="utf-8")

    said = review(cli, "y")

    assert said.endswith(f"1 applied; {NO_MORE}")
    assert cli.done("context") == "[memory:project:fact]\nA."


def test_a_broken_one(cli: Any, run_git: Any) -> None:
    """It is shown with its error and can be discarded."""
    folder = cli.at / ".custom-agent" / "memory"
    run_git("switch", "-q", "-c", "memory/candidate/broken", cwd=folder)
    (folder / "bad.md").write_text("---\ntype: idea\n---\n\nBad.\n", encoding="utf-8")
    run_git("add", ".", cwd=folder)
    run_git("commit", "-q", "--no-verify", "-m", "An idea", cwd=folder)
    run_git("switch", "-q", "memory/main", cwd=folder)

    said = review(cli, "y", "n", "broken")

    assert "broken    mem_bad: line 2: 'idea' is no type" in said
    assert "what now? [n,e,v,p,space,/,q,?] y" in said
    assert said.endswith(f"1 discarded; {NO_MORE}")


def test_changed_while_writing(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit takes nobody's change back: it is shown, and so is the candidate as it is now."""
    id_ = cli.propose()
    gitmem = shlex.join([sys.executable, "-m", "gitmem", "-C", str(cli.at)])
    editor = tmp_path / "editor"
    editor.write_text(
        f'#!/bin/sh\nsed -i s/4/2/ "$1"\n'
        f"echo 'Use 3 spaces.' | {gitmem} edit {id_} --body-file - >/dev/null\n"
    )
    editor.chmod(0o755)
    monkeypatch.setenv("GIT_EDITOR", str(editor))

    said = review(cli, "e", "q")

    assert "It has changed while you were writing, and this is not saved:" in said
    assert "\nUse 2 spaces." in said
    assert said.index("Use 2 spaces.") < said.index("{+Use 3 spaces.+}")
