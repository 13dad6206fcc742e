from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FIELDS = [
    "id",
    "state",
    "broken",
    "conflicts",
    "scope",
    "type",
    "entries",
    "commit",
    "base",
    "digest",
    "createdAt",
    "rationale",
    "sources",
    "priority",
    "actor",
]


def _drop(project: Path, name: str, text: str) -> None:
    box = project / ".custom-agent" / "candidates"
    box.mkdir(parents=True, exist_ok=True)
    (box / name).write_text(text, encoding="utf-8")


def test_nothing(cli: Any) -> None:
    """An empty list is done: nothing on standard output, and a word beside it."""
    result = cli("list")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "no pending candidates\n"
    assert cli.json("list") == []


def test_what_a_person_reads(cli: Any) -> None:
    """Two lines a candidate: what it is about, and the first line of its reasons."""
    cli.propose("pref_indent", "Use 4 spaces.", "--rationale", "The user said so.\n\nTwice.")
    cli.propose("pref_tone", "Be brief.", "--scope", "user", "--priority", "high")

    assert cli.done("list").splitlines() == [
        "cand_2026_00000001  project preference  mem_pref_indent",
        "    The user said so.",
        "cand_2026_00000002  user preference  mem_pref_tone  [priority high]",
        "    The user said so.",
    ]


def test_fields_of_json(cli: Any) -> None:
    """Every promised field is there, in a list of objects."""
    cli.propose()

    (found,) = cli.json("list")

    assert list(found)[: len(FIELDS)] == FIELDS
    assert found["state"] == "pending"
    assert found["entries"] == ["mem_pref_indent"]
    assert len(found["digest"]) == 64
    assert len(found["commit"]) == len(found["base"]) == 40


def test_states(cli: Any) -> None:
    """Each state can be asked for; all shows everything."""
    applied = cli.apply("a", "A.")
    reverted = cli.apply("b", "B.")
    cli.done("revert", reverted, "--yes")
    discarded = cli.propose("c", "C.")
    cli.done("discard", discarded, "--yes")
    pending = cli.propose("d", "D.")

    def ids(*args: str) -> set[str]:
        return {one["id"] for one in cli.json("list", *args)}

    assert ids() == {pending}
    assert ids("--state", "applied") == {applied}
    assert ids("--state", "reverted", "--state", "discarded") == {reverted, discarded}
    assert ids("--state", "all") == {applied, reverted, discarded, pending}
    assert cli.done("list", "--state", "discarded").startswith(
        f"{discarded}  project preference  mem_c  [discarded]\n"
    )


def test_conflicts_are_flagged(cli: Any) -> None:
    """A candidate that no longer goes together with what is approved says so."""
    cli.apply("a", "A.")
    first, second = cli.propose("a", "B."), cli.propose("a", "C.")
    cli.done("apply", first, "--yes")

    assert f"{second}  project preference  mem_a  [conflicts]" in cli.done("list")
    assert cli.json("list")[0]["conflicts"] == ["mem_a"]


def test_dropped_files(cli: Any) -> None:
    """What lies in the drop box is listed as dropped, a faulty file with its line."""
    _drop(
        cli.at,
        "good.md",
        "---\nid: mem_a\ntype: fact\nrationale: because\nsources:\n  - evidence: said\n---\n\nA.\n",
    )
    _drop(cli.at, "bad.md", "---\nid: mem_b\ntype: idea\nrationale: because\n---\n\nB.\n")

    shown = cli.done("list")
    bad, good = cli.json("list", "--state", "dropped")

    assert shown.splitlines()[0] == "bad.md  [dropped, broken]"
    assert "line 3" in shown.splitlines()[1]
    assert shown.splitlines()[2:] == ["good.md  project fact  mem_a  [dropped]", "    because"]
    assert list(good) == list(bad) == FIELDS
    assert (good["id"], good["state"], good["broken"]) == ("good.md", "dropped", None)
    assert (good["entries"], good["sources"]) == (["mem_a"], [{"evidence": "said"}])
    assert (good["commit"], good["digest"], good["actor"]) == (None, None, None)
    assert "line 3" in bad["broken"]


def test_remote_ones(cli: Any, run_git: Any) -> None:
    """A candidate that only a remote has is listed, unless nobody wants it."""
    folder = cli.at / ".custom-agent" / "memory"
    id_ = cli.propose()
    branch = f"refs/heads/memory/candidate/{id_}"
    run_git("update-ref", f"refs/remotes/origin/memory/candidate/{id_}", branch, cwd=folder)
    run_git("update-ref", "-d", branch, cwd=folder)
    run_git("update-ref", "-d", f"refs/memory/kept/{id_}", cwd=folder)

    assert cli.done("list").startswith(f"{id_}  project preference  mem_pref_indent  [of origin]\n")
    assert cli.json("list", "--no-remote") == []


def test_untrusted_text(cli: Any) -> None:
    """Hidden characters of a rationale are written out."""
    cli.propose("a", "A.", "--rationale", "fine\x1b[2K\u202eevil")

    assert cli.done("list").splitlines()[1] == "    fine<U+001B>[2K<U+202E>evil"


def test_a_link_is_not_followed(cli: Any, tmp_path: Path) -> None:
    """A link in the drop box is never read, and it is said."""
    (tmp_path / "secret.md").write_text("---\nid: mem_a\n---\nsecret\n", encoding="utf-8")
    _drop(cli.at, "x.md", "")
    link = cli.at / ".custom-agent" / "candidates" / "link.md"
    link.symlink_to(tmp_path / "secret.md")

    (found, _) = cli.json("list", "--state", "dropped")

    assert (found["id"], found["broken"]) == ("link.md", "it is a link")


@pytest.mark.usefixtures("agent")
def test_agents_may_look(cli: Any) -> None:
    """Reading is for everybody."""
    assert cli.done("list") == ""


def test_one_bad_ref_hides_nothing(cli: Any, project: Path) -> None:
    """A ref without an id or to nothing is shown as broken; all else works as before."""
    good = cli.propose("pref_indent", "Use 4 spaces.")
    refs = project / ".git" / "gitmem" / "memory.git" / "refs" / "heads" / "memory" / "candidate"
    (refs / "garbage").write_text("garbage\n", encoding="utf-8")
    (refs / "missing").write_text("1" * 40 + "\n", encoding="utf-8")

    listed = {item["id"]: item["broken"] for item in cli.json("list")}
    findings = [item["message"] for item in json.loads(cli("verify", "--json").stdout)["findings"]]
    cli.propose("pref_tone", "Be brief.")
    cli.done("apply", "--yes", good)

    assert listed == {good: None, "missing": f"the object {'1' * 40} is missing"}
    assert findings == [
        "refs/heads/memory/candidate/garbage holds no commit id",
        f"refs/heads/memory/candidate/missing can't be read: the object {'1' * 40} is missing",
    ]
    assert "candidate.applied" in cli.done("log")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("TABS", ["a"]),
        ("two spaces", ["b"]),
        ("mem_c", ["c"]),
        ("said so", ["a", "b", "c"]),
        ("x", []),
    ],
)
def test_grep(cli: Any, text: str, found: list[str]) -> None:
    """Those that say something: in their text, their evidence, their rationale or their name."""
    cli.propose("a", "No tabs.")
    cli.propose("b", "B.", "--session", "s", "--evidence", "Two spaces!")
    cli.propose("c", "C.")

    listed = cli.json("list", "--grep", text)

    assert [one["entries"][0].removeprefix("mem_") for one in listed] == found


def test_what_is_done_with(cli: Any) -> None:
    """What says what is approved by now can't be decided about: it is told, not listed."""
    entries = [{"key": key, "type": "preference", "body": f"{key}."} for key in ("a", "b")]
    document = json.dumps({"rationale": "r", "entries": entries})
    both = cli.done("propose", "--json", "-", input=document)
    for key in ("a", "b"):
        cli.done("add", key, f"{key}.", "--type", "preference", "--yes")

    result = cli("list")

    assert result.stdout == ""
    assert result.stderr.startswith("1 more candidate says what is approved by now\n")
    assert both in {one["id"] for one in cli.json("list", "--state", "all")}
    assert cli.done("inbox") == ""
