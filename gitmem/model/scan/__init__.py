"""The scan for injections: every rule over a text. A new rule is a new module, named in `RULES`."""

from __future__ import annotations

from gitmem.model.scan import hidden
from gitmem.model.scan.finding import Confidence, Finding, Rule

__all__ = ["RULES", "Confidence", "Finding", "Rule", "scan"]

RULES: tuple[Rule, ...] = (hidden,)


def scan(text: str) -> tuple[Finding, ...]:
    """What all rules find in `text`, by place, then by rule; the same for the same text."""
    findings = [finding for rule in RULES for finding in rule.find(text)]
    return tuple(sorted(findings, key=lambda finding: (finding.start, finding.end, finding.rule)))
