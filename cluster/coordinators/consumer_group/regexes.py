"""Regular-expression subscriptions: which topics they match, and when the coordinator looks again.

Kafka resolves them on a thread of its own and writes the result later; here it takes `RESOLUTION_US`. It looks again
when an expression is not resolved or a topic is new, at most once in ten seconds, and else every refresh interval.
Expressions are RE2/J's (`cluster/protocol/topic_pattern.py`).
Source: Kafka's `GroupMetadataManager` (maybeUpdateRegularExpressions, handleRegularExpressionsResult),
`TopicRegexResolver`.
"""

from typing import Final, NamedTuple

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup, ResolvedRegex
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.refusal import Refusal
from cluster.coordinators.consumer_group.writing import GroupWrite
from cluster.coordinators.decision import Decision
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import REGEX
from cluster.coordinators.records import ConsumerGroupTombstone, RegularExpression
from cluster.events import TopicRegexResolved
from cluster.protocol.errors import ErrorCode
from cluster.protocol.re2_syntax import TopicPatternError
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.protocol.topic_pattern import topic_pattern
from cluster.reach import reached

RESOLUTION_US: Final = 1_000
MIN_INTERVAL_US: Final = 10_000_000  # REGEX_BATCH_REFRESH_MIN_INTERVAL_MS


class RegexChange(NamedTuple):
    """What a heartbeat changes: another expression; one whose topics are known; one that no member had."""

    changed: bool = False
    resolved: bool = False
    new: bool = False


NO_CHANGE: Final = RegexChange()


def refusal_of(regex: str) -> Refusal | None:
    """Why an expression cannot be subscribed to; None if it can."""
    try:
        topic_pattern(regex)
    except TopicPatternError as error:
        words = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}."
        return Refusal(ErrorCode.INVALID_REGULAR_EXPRESSION, words)
    return None


def change_regex(write: GroupWrite, before: ConsumerGroupMember, now: ConsumerGroupMember) -> RegexChange | Refusal:
    """Note another expression of a member: forget the one that its last member had, check a new one."""
    group, old, new = write.group, before.topic_regex, now.topic_regex
    if old == new:
        return NO_CHANGE
    if old and group.regex_members(old) == 1:
        write.records.append(ConsumerGroupTombstone.of(RegularExpression, group.group_id, old))
    if not new:
        return RegexChange(changed=True, resolved=True)
    if group.regex_members(new):
        return RegexChange(changed=True, resolved=new in group.regexes)
    return refusal_of(new) or RegexChange(changed=True, new=True)


def schedule_refresh(write: GroupWrite, now: ConsumerGroupMember, change: RegexChange) -> None:
    """Resolve the group's expressions soon, if there is a reason to and the last time is long enough ago."""
    context, group = write.context, write.group
    wanted = group.subscribed_regexes(group.with_member(now))
    name = REGEX, group.group_id, ""
    if not wanted or context.deadlines.get(name) is not None:
        return
    last = next(iter(group.regexes.values()), None)
    needed = change.new or len(wanted) != len(group.regexes)
    if last is not None:
        if write.now_us <= last.at_us + MIN_INTERVAL_US:
            return
        needed = needed or last.version < context.topics.created
        needed = needed or write.now_us > last.at_us + context.settings.regex_refresh_us
    if needed:
        context.deadlines.set(name, write.now_us + RESOLUTION_US)
        context.regexes_to_resolve[group.group_id] = tuple(wanted)


def regex_deadline(context: GroupContext, group: ConsumerGroup, now_us: int) -> Decision:
    """Write the topics of the group's expressions; the group epoch rises if any has other topics than before."""
    write = GroupWrite(context, group, now_us)
    topics, resolved = context.topics.user_topics(), dict(group.regexes)
    changed = first = False
    for regex in context.regexes_to_resolve.pop(group.group_id, ()):
        if not group.regex_members(regex):
            continue
        pattern = topic_pattern(regex)
        found = ResolvedRegex(
            tuple(sorted([topic for topic in topics if pattern.matches(topic)])), context.topics.version, now_us
        )
        known, resolved[regex] = group.regexes.get(regex), found
        write.records.append(RegularExpression(group.group_id, regex, *found))
        if (known.topics if known is not None else ()) != found.topics:
            changed, first = True, first or known is None
        if known is None or known.topics != found.topics:
            write.facts.append(
                TopicRegexResolved(group=group.group_id, regex=regex, topics=found.topics, scanned=len(topics))
            )
    metadata_hash = context.topics.hash_of(group.subscribed_topics(group.members.values(), resolved))
    if changed or metadata_hash != group.metadata_hash:
        reached("consumer group: a regular expression matches other topics")
        cause = RebalanceCause.SUBSCRIPTION_CHANGED if first else RebalanceCause.METADATA_CHANGED
        write.bump(cause, [], metadata_hash)
        group.checked_metadata = context.topics.version, write.epoch
    return write.decision(_done)


def _done(error: ErrorCode, now_us: int) -> Decision:
    """Do nothing: after a failed append the next heartbeat begins again."""
    del error, now_us
    return Decision()
