"""The exceptions from the house rules. The list may only shrink: an entry that is not needed, or
that allows more than is there, is itself a violation.
"""

import dataclasses
import tomllib

from tree import Violation

LIST = "tests/house/exceptions.toml"


@dataclasses.dataclass(frozen=True)
class Exemption:
    """`subject` names one function or macro of the file; `size` the size that is allowed."""

    rule: str
    path: str
    why: str
    subject: str = ""
    size: int = 0

    def covers(self, violation):
        return ((self.rule, self.path, self.subject) ==
                (violation.rule, violation.path, violation.subject))


def read_exceptions(text):
    return [Exemption(**row) for row in tomllib.loads(text).get("exception", [])]


def apply_exceptions(violations, exemptions):
    """What is left of the violations, and the faults of the list itself."""
    left = []
    for violation in violations:
        entry = next((entry for entry in exemptions if entry.covers(violation)), None)
        if entry is None or violation.size > entry.size:
            left.append(violation)
    for entry in exemptions:
        covered = [violation for violation in violations if entry.covers(violation)]
        name = " ".join(part for part in (entry.rule, entry.path, entry.subject) if part)
        if not covered:
            left.append(Violation("exception", LIST, 1, f"no longer needed: {name}"))
        elif max(violation.size for violation in covered) < entry.size:
            size = max(violation.size for violation in covered)
            left.append(Violation("exception", LIST, 1, f"{name}: lower its size to {size}"))
    return left
