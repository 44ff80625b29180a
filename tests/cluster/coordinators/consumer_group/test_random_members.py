"""Random members, lost answers, failovers that lose what was not committed: no partition twice, and convergence."""

from __future__ import annotations

from hypothesis import settings

from tests.support.random_group_members import Members

Members.TestCase.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
TestMembers = Members.TestCase
