"""Whether the user has said more than the request."""

from __future__ import annotations

from itertools import islice

from sentry_langgraph.records import Trajectory


def only_request(trajectory: Trajectory) -> bool:
    """Whether the request is all that the user has said.

    In a conversation what is meant may have been settled in words that no rule follows: the
    newest text is then often no more than a yes.
    """
    provenance = trajectory.provenance
    if provenance.users is not None:
        return provenance.users < 2
    users = (passage for passage in provenance.told() if passage.user)
    return len(list(islice(users, 2))) < 2
