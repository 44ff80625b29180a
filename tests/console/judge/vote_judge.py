"""Judges what is said of a vote for the assignor, counted anew from the members' offers."""

import re

from cluster import events as e
from tests.console.judge.grammar import Sentences

COOPERATIVE = {"cooperative-sticky"}


def offers_of(event: e.ProtocolElected, members: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Client id → what it offered."""
    return {members.get(member_id, member_id): offer for member_id, offer in event.offers.items()}


def lacking(offers: dict[str, tuple[str, ...]], assignor: str) -> list[str]:
    """The members that do not offer an assignor which another member offers."""
    assert any(assignor in offer for offer in offers.values())
    return [member for member, offer in offers.items() if assignor not in offer]


def ballot(offers: dict[str, tuple[str, ...]], member: str) -> str:
    """A member's vote: the first assignor of its list that all members offer."""
    return next(name for name in offers[member] if not lacking(offers, name))


def blocks(words: str, offers: dict[str, tuple[str, ...]]) -> bool:
    """Whether `X is blocked by a, b and 2 more; Y is blocked by c` names each blocked assignor and who blocks it."""
    said: dict[str, tuple[list[str], int]] = {}
    for part in words.split("; "):
        match = re.fullmatch(r"(\S+) is blocked by ((?:\S+, )*\S+?)(?: and (\d+) more)?", part)
        if match is None:
            return False
        said[match[1]] = match[2].split(", "), int(match[3] or 0)
    every = {name for offer in offers.values() for name in offer}
    truth = {name: lacking(offers, name) for name in every if lacking(offers, name)}
    named = all(truth[name][: len(some)] == some for name, (some, _) in said.items() if name in truth)
    return (
        set(said) == set(truth) and named and all(len(truth[name]) == len(some) + n for name, (some, n) in said.items())
    )


def vote_sentences(offers: dict[str, tuple[str, ...]], elected: str) -> Sentences:
    """The section of the details: offers and votes, the elected assignor, who blocks which."""

    def offered(match: "re.Match[str]") -> bool:
        names, lists = match[1].split(", "), tuple(match[3].split(", "))
        alike = [member for member, offer in offers.items() if offer == lists]
        counted = len(alike) == len(names) + int(match[2] or 0) and alike[: len(names)] == names
        return counted and all(ballot(offers, member) == match[4] for member in alike)

    def won(match: "re.Match[str]") -> bool:
        votes = [ballot(offers, member) for member in offers]
        most = max(votes.count(name) for name in votes)
        first = next(name for name in votes if votes.count(name) == most)
        return (match[1], int(match[2]), int(match[3])) == (elected, most, len(offers)) and match[1] == first

    def blocked(match: "re.Match[str]") -> bool:
        names = match[2].split(", ")
        truth = lacking(offers, match[1])
        return truth[: len(names)] == names and len(truth) == len(names) + int(match[3] or 0)

    some = r"((?:\S+, )*\S+?)(?: and (\d+) more)?"
    return (
        (rf"{some} offers? ((?:\S+, )*\S+): votes? for (\S+)", offered),
        (r"elected: (\S+) by (\d+) of (\d+) votes", won),
        (rf"blocked: (\S+): {some} do(?:es)? not offer it", blocked),
    )
