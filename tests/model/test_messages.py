"""Tests for the messages of the commits that gitmem writes."""

from __future__ import annotations

from gitmem.model import messages, trailers
from gitmem.model.entries import Source
from gitmem.model.merges import candidates_named, reverted_commit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_proposal_in_full() -> None:
    """Subject, rationale and trailers, the evidence on one line each."""
    told = messages.grounds([Source("s", "t", "two\nlines")], "high")

    message = messages.proposal("cand_1", ["one", "two"], "Because.\n", told, actor="agent")

    assert message == (
        "memory: propose one and 1 more\n"
        "\n"
        "Because.\n"
        "\n"
        "Memory-Event: candidate.created\n"
        "Memory-Candidate: cand_1\n"
        "Memory-Priority: high\n"
        'Memory-Source: {"sessionId": "s", "turnId": "t", "evidence": "two\\nlines"}\n'
        "Memory-Actor: agent\n"
    )


def test_a_reopened_one_says_so() -> None:
    """The first commit of a reopened candidate has an event of its own."""
    message = messages.proposal("cand_1", ["one"], "Why.", [], actor="a", reopened=True)

    assert trailers.parse(message).first(trailers.EVENT) == "candidate.reopened"


def test_an_apply_names_its_candidate_as_git_would() -> None:
    """The approval rules read the merge of a local and of a remote's branch alike."""
    here = messages.apply("cand_1", "d" * 64, remote=None)
    there = messages.apply("cand_1", "d" * 64, remote="origin")

    assert here.startswith("Merge branch 'memory/candidate/cand_1' into memory/main\n\n")
    assert there.startswith("Merge remote-tracking branch 'origin/memory/candidate/cand_1' into")
    assert candidates_named(here) == candidates_named(there) == ("cand_1",)


def test_main_merged_into_a_candidate_is_no_apply() -> None:
    """It names no candidate as merged, however it is read."""
    assert candidates_named(messages.onto_main("cand_1", "user")) == ()


def test_a_revert_reads_as_gits_own() -> None:
    """Git's sentence, the reason above it, and the trailer agree on the commit."""
    message = messages.revert("Merge branch 'x'\n", COMMIT, ("a" * 40, "b" * 40), "It was wrong.")

    assert message == (
        "Revert \"Merge branch 'x'\"\n"
        "\n"
        "It was wrong.\n"
        "\n"
        f"This reverts commit {COMMIT}, reversing\n"
        f"changes made to {'a' * 40}.\n"
        "\n"
        "Memory-Event: memory.reverted\n"
        f"Memory-Reverts: {COMMIT}\n"
    )
    assert reverted_commit(message) == COMMIT


def test_a_closing_commit_has_the_reason_as_its_body() -> None:
    """The reason is the body; what else is told follows as trailers."""
    message = trailers.parse(messages.closing("discard", "c", "No.", [(trailers.NEVER, "true")]))

    assert (message.subject, message.body) == ("memory: discard c", "No.")
    assert message.trailers == (
        (trailers.EVENT, "candidate.discarded"),
        (trailers.CANDIDATE, "c"),
        (trailers.NEVER, "true"),
    )


def test_a_revert_of_a_commit_with_an_odd_subject() -> None:
    """A carriage return in a subject made by hand does not stop the revert."""
    message = messages.revert("odd\rsubject\n", COMMIT, ("a" * 40,), "")

    assert trailers.parse(message).subject == 'Revert "odd subject"'
