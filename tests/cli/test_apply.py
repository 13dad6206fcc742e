from __future__ import annotations

import json
from typing import Any

import pytest


def test_merges_the_candidate(cli: Any, run_git: Any) -> None:
    """It is a merge with the candidate as its second parent, and the branch is gone."""
    id_ = cli.propose()
    tip = cli.json("list")[0]["commit"]

    said = cli.done("apply", id_, "--yes")

    folder = cli.at / ".custom-agent" / "memory"
    head = run_git("rev-parse", "HEAD", cwd=folder)
    assert said == f"applied {id_} ({head[:10]}): mem_pref_indent"
    assert run_git("rev-parse", "HEAD^2", cwd=folder) == tip
    assert run_git("branch", "--list", "memory/candidate/*", cwd=folder) == ""
    assert run_git("log", "-1", "--format=%an <%ae>", cwd=folder) == (
        "Test Person <person@example.org>"
    )
    assert cli.done("context") == "[memory:project:preference]\nUse 4 spaces."


def test_json(cli: Any) -> None:
    """A program gets the commit, the candidate, its entries and what was left alone."""
    id_ = cli.propose()

    found = cli.json("apply", id_, "--yes")

    assert len(found.pop("commit")) == 40
    assert found == {"candidate": id_, "entries": ["mem_pref_indent"], "left": []}


def test_expect(cli: Any) -> None:
    """What was seen, named by its digest or its commit, is applied while it is that."""
    first, second = cli.propose("a", "A."), cli.propose("b", "B.")
    by_id = {one["id"]: one for one in cli.json("list")}

    cli.done("apply", first, "--yes", "--expect", by_id[first]["digest"])
    cli.done("apply", second, "--yes", "--expect", by_id[second]["commit"])

    assert cli.json("list") == []


@pytest.mark.parametrize("by", ["digest", "commit"])
def test_expect_refuses_what_has_changed(cli: Any, by: str) -> None:
    """An edit since then is not approved by accident."""
    id_ = cli.propose()
    seen = cli.json("list")[0][by]
    cli.done("edit", id_, "--body-file", "-", input="Use 2 spaces.")

    result = cli("apply", id_, "--yes", "--expect", seen)

    assert result.exit_code == 3
    assert result.stderr.startswith(f"error: {id_} is not what you have seen:")
    assert result.stderr.endswith(f"hint: look again: gitmem diff {id_}\n")
    assert cli.done("context") == ""


@pytest.mark.usefixtures("at_terminal")
def test_a_person_sees_the_difference_first(cli: Any) -> None:
    """At a terminal the difference goes with the question, and data stays on standard output."""
    id_ = cli.propose()

    result = cli("apply", id_, input="y\n")

    assert result.exit_code == 0
    assert "+Use 4 spaces.\n" in result.stderr
    assert f"apply {id_}? [y/N] " in result.stderr
    assert result.stdout.startswith(f"applied {id_} (")


@pytest.mark.usefixtures("at_terminal")
def test_what_changes_during_the_question_is_not_applied(
    cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was shown can be agreed to."""
    from gitmem.cli import common

    id_ = cli.propose()

    def ask(_question: str) -> str:
        cli.done("edit", id_, "--body-file", "-", input="Something else.")
        return "y"

    monkeypatch.setattr(common, "ask", ask)

    assert cli("apply", id_).exit_code == 3
    assert cli.done("context") == ""


def test_a_conflict(cli: Any) -> None:
    """It is refused with the reason and the way out."""
    first, second = cli.propose("a", "A."), cli.propose("a", "B.")
    cli.done("apply", first, "--yes")

    result = cli("apply", second, "--yes")

    assert result.exit_code == 3
    assert result.stderr.startswith(
        f"error: {second} does not go together with what is approved now: mem_a\n"
    )
    assert result.stderr.endswith(f"hint: settle it: gitmem edit {second} --onto-main\n")


def test_errors_in_json(cli: Any) -> None:
    """A program gets the error's stable name."""
    result = cli("apply", "nothing", "--yes", "--json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"] == "no-such-candidate"
    assert result.stderr == ""


def test_twice(cli: Any) -> None:
    """An applied candidate can't be applied again."""
    id_ = cli.apply()

    result = cli("apply", id_, "--yes")

    assert result.exit_code == 3
    assert result.stderr.startswith(f"error: {id_} is applied, not pending\n")


def test_without_an_identity(cli: Any, monkeypatch: pytest.MonkeyPatch, sealed_home: Any) -> None:
    """An approval has an author, and the error says how to have one."""
    id_ = cli.propose()
    (sealed_home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n", encoding="utf-8")

    result = cli("apply", id_, "--yes")

    assert result.exit_code == 2
    assert result.stderr.startswith("error: git does not know who you are")
    assert "git config --global user.name" in result.stderr


def test_an_edited_file_is_left_alone(cli: Any) -> None:
    """A person's edit in the folder stays, and is told on standard error and in JSON."""
    cli.apply()
    file = cli.at / ".custom-agent" / "memory" / "pref_indent.md"
    file.write_text("my edit\n", encoding="utf-8")
    id_ = cli.propose("pref_indent", "Use 2 spaces.")

    result = cli("apply", id_, "--yes", "--json")

    assert json.loads(result.stdout)["left"] == [{"path": "pref_indent.md", "reason": "edited"}]
    assert result.stderr == (
        "warning: 'pref_indent.md' in the memory folder was left as it is: edited\n"
    )
    assert file.read_text(encoding="utf-8") == "my edit\n"


def test_takes_up_what_was_dropped(cli: Any) -> None:
    """A deciding command makes candidates of the drop box's files, and says so."""
    box = cli.at / ".custom-agent" / "candidates"
    box.mkdir()
    (box / "good.md").write_text(
        "---\nid: mem_a\ntype: fact\nrationale: because\n---\n\nA.\n", encoding="utf-8"
    )
    (box / "bad.md").write_text("---\nid: mem_b\n---\n\nB.\n", encoding="utf-8")

    result = cli("apply", cli.propose(), "--yes")

    (taken,) = cli.json("list", "--state", "pending")
    assert taken["entries"] == ["mem_a"]
    assert result.stderr.splitlines() == [
        f"warning: 'bad.md' stays in the drop box: {_fault(cli)}",
        f"'good.md' from the drop box is {taken['id']} now",
    ]


def _fault(cli: Any) -> str:
    (bad,) = cli.json("list", "--state", "dropped")
    fault: str = bad["broken"]
    return fault


def test_a_merge_in_progress(cli: Any, run_git: Any) -> None:
    """Where the folder is in the middle of a merge, it says so and what to do."""
    id_ = cli.propose()
    folder = cli.at / ".custom-agent" / "memory"
    run_git("merge", "--no-ff", "--no-commit", f"memory/candidate/{id_}", cwd=folder)

    result = cli("apply", id_, "--yes")

    assert result.exit_code == 3
    assert result.stderr.startswith(f"error: a merge is in progress in {folder}\n")
    assert "gitmem git merge --abort" in result.stderr


def test_a_folder_on_another_branch(cli: Any, run_git: Any) -> None:
    """Where the folder shows another branch, nothing is decided."""
    id_ = cli.propose()
    folder = cli.at / ".custom-agent" / "memory"
    run_git("switch", "--quiet", f"memory/candidate/{id_}", cwd=folder)

    result = cli("apply", id_, "--yes")

    assert result.exit_code == 3
    assert id_ in result.stderr.splitlines()[0]
    assert "gitmem git --scope project switch memory/main" in result.stderr


def test_several(cli: Any) -> None:
    """Each is applied and named; what can't be is named too, and does not stop the rest."""
    first, rival, other = cli.propose("a", "A."), cli.propose("a", "Not A."), cli.propose("b", "B.")

    result = cli("apply", first, rival, other, "--yes")

    assert result.exit_code == 3
    assert [line.split(" (")[0] for line in result.stdout.splitlines()] == [
        f"applied {first}",
        f"applied {other}",
    ]
    assert f"warning: {rival} is not what you have seen" in result.stderr
    assert [one["id"] for one in cli.json("list")] == [rival]


@pytest.mark.usefixtures("at_terminal")
def test_several_are_shown_first(cli: Any) -> None:
    """All of them stand above the one question."""
    first, second = cli.propose("a", "A."), cli.propose("b", "B.")

    result = cli("apply", first, second, first, input="n\n")

    assert result.exit_code == 1
    assert result.stderr.index(first) < result.stderr.index("+A.") < result.stderr.index(second)
    assert result.stderr.endswith("+B.\napply these 2? [y/N] nothing done\n")


def test_a_batch(cli: Any) -> None:
    """The others of its session that are not risky."""
    first, second = (cli.propose(key, key, "--session", "s1") for key in ("a", "b"))
    cli.propose("c", "c", "--session", "s2")
    cli.propose("d", "d", "--session", "s1", "--type", "forbidden")

    found = cli.json("apply", first, "--batch", "--yes")

    assert [one["candidate"] for one in found] == [first, second]
    assert len(cli.json("list")) == 2


def test_several_and_what_one_has_seen(cli: Any) -> None:
    """A digest is that of one."""
    first, second = cli.propose("a", "A."), cli.propose("b", "B.")

    assert cli.error("apply", first, second, "--yes", "--expect", "abcd") == "usage"


def test_what_is_done_with_is_closed(cli: Any) -> None:
    """A candidate that says what is approved by now is superseded: that is no rejection."""
    entries = [{"key": key, "type": "preference", "body": f"{key}."} for key in ("a", "b")]
    both = cli.done(
        "propose", "--json", "-", input=json.dumps({"rationale": "r", "entries": entries})
    )
    first, second = cli.propose("a", "a."), cli.propose("b", "b.")
    assert cli("apply", first, "--yes").stderr == ""

    result = cli("apply", second, "--yes")

    assert result.stderr == f"{both} says what is approved now: closed as superseded\n"
    shown = cli.json("show", both)
    assert (shown["state"], shown["supersededBy"]) == ("superseded", second)
