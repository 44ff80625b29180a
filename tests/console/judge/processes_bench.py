"""The judge's bench for the places of members and producers."""

from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from console.presenters.processes.batches import SHOWN, BatchesListing
from console.presenters.processes.facts import FactsListing
from console.presenters.processes.member_facts import member_facts
from console.presenters.processes.member_tables import GenerationsListing, OwnedListing
from console.presenters.processes.producer_facts import producer_facts
from console.presenters.processes.producer_tables import (
    ClocksListing,
    ErrorsListing,
    LastTransactionsListing,
    WrittenListing,
)
from console.presenters.producers.limits import configs_of
from console.presenters.styled_text import plain
from tests.console.judge.books import Books
from tests.console.judge.grammar import Verdict
from tests.console.judge.member_place_judge import MemberPlaceJudge
from tests.console.judge.producer_books import declared_configs
from tests.console.judge.producer_place_judge import ProducerPlaceJudge


def judge_member_places(view: ClusterView, books: Books, now_us: int, verdict: Verdict) -> None:
    """Judge the places of some members, others at each instant in turn."""
    names, turn = list(books.members), now_us // 100_000
    for name in dict.fromkeys(names[(turn + 3 * place) % len(names)] for place in range(3)) if names else ():
        member = view.members[name]
        group, judge_ = view.groups[member.group], MemberPlaceJudge(books, name, now_us, verdict)
        facts = FactsListing(member_facts(view, member, now_us), 400, name)
        judge_.facts([plain(facts.rows(key)[0]) for key in facts.row_keys()])
        owned = OwnedListing(view, group, member, now_us, 240)
        rows = [plain(owned.rows(key)[0]) for key in owned.row_keys()]
        judge_.owned(list(owned.row_keys()), plain(owned.header()), rows, plain(owned.vacant))
        past = GenerationsListing(view, group, member, now_us, 240)
        rows = [plain(past.rows(key)[0]) for key in past.row_keys()]
        judge_.generations(plain(past.header()), rows, plain(past.vacant))


def judge_producer_places(view: ClusterView, books: Books, now_us: int, spec: ScenarioSpec, verdict: Verdict) -> None:
    """Judge the places of some producers, others at each instant in turn."""
    names, turn = list(books.cluster.producers), now_us // 100_000
    declared, configs = declared_configs(spec, names), configs_of(spec)
    for name in dict.fromkeys(names[(turn + place) % len(names)] for place in range(2)) if names else ():
        one, judge_ = view.producers[name], ProducerPlaceJudge(books, name, now_us, declared[name], verdict)
        facts = FactsListing(producer_facts(view, one, now_us, configs), 400, name)
        judge_.facts([plain(facts.rows(key)[0]) for key in facts.row_keys()])
        clocks = ClocksListing(view, one, now_us, 240, configs)
        judge_.clocks([plain(clocks.rows(key)[0]) for key in clocks.row_keys()], plain(clocks.vacant))
        written, errors = WrittenListing(view, one, now_us, 240), ErrorsListing(view, one, 240)
        rows = [plain(written.rows(key)[0]) for key in written.row_keys()]
        judge_.partitions(list(written.row_keys()), plain(written.header()), rows, plain(written.vacant))
        batches = BatchesListing(one, now_us, 240)
        rows = [plain(batches.rows(key)[0]) for key in batches.row_keys()]
        judge_.batches(plain(batches.header()), rows, plain(batches.vacant), SHOWN)
        rows = [plain(errors.rows(key)[0]) for key in errors.row_keys()]
        judge_.errors(plain(errors.header()), rows, plain(errors.vacant))
        past = LastTransactionsListing(view, one, now_us, 240)
        rows = [plain(past.rows(key)[0]) for key in past.row_keys()]
        judge_.transactions(plain(past.note()), plain(past.header()), rows, plain(past.vacant))
