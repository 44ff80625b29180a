"""The judge's bench for the places of partitions' records."""

from cluster.view import ClusterView
from console.presenters.list_view import Listing
from console.presenters.partitions.newest_logs import NewestLogs
from console.presenters.partitions.records import COLUMNS, SHOWN, RecordsListing, RefusedListing
from console.presenters.styled_text import plain
from console.presenters.table import Layout
from tests.console.judge.books import Books
from tests.console.judge.grammar import Verdict
from tests.console.judge.records_judge import Cells, RecordsJudge

ROWS = 40
WIDTHS = (200, 120, 80)


def judge_records(logs: NewestLogs, view: ClusterView, books: Books, turn: int, verdict: Verdict) -> None:
    """Judge the records of some partitions: those that leaders refused something of first, others in turn."""
    partitions, topics = view.partitions, view.topics
    names = sorted(partitions, key=lambda name: topics[partitions[name].topic].internal)
    refused = [name for name in names if books.records.of(name).refused]
    written = [name for name in names if books.records.of(name).log]
    turns = [known[turn % len(known)] for known in (refused, written, names) if known]
    for name in dict.fromkeys([*written[:1], *turns]):
        one, log, width = partitions[name], logs.of(name), WIDTHS[turn % len(WIDTHS)]
        judge_ = RecordsJudge(books, name, verdict)
        folded = RecordsListing(one, log, width)
        judge_.listed(folded.row_keys(), SHOWN)
        titles = [column.title for column in COLUMNS]
        rows = {key: _cells(folded, folded.layout, titles, key) for key in folded.row_keys()}
        judge_.note(plain(folded.note()), rows[folded.row_keys()[-1]]["offsets"] if rows else "")
        shown = folded.row_keys()[:ROWS]
        for key in shown:
            judge_.batch(key, rows[key])
        opened = RecordsListing(one, log, width, set(shown))
        for key in opened.row_keys()[: 2 * ROWS]:
            if "/" in key:
                judge_.record(key, _cells(opened, opened.layout, titles, key))
        answers = RefusedListing(log, width)
        titles = [column.title for column in RefusedListing.columns]
        told = [_cells(answers, answers.layout, titles, key) for key in answers.row_keys()]
        judge_.refused(told, plain(answers.vacant))


def _cells(listing: Listing, layout: Layout, titles: list[str], key: str) -> Cells:
    """The cells of a row under the titles that are shown there."""
    text, header = plain(listing.rows(key)[0]), plain(listing.header())
    spans = {title: (layout.place_of(place), layout.width_of(place)) for place, title in enumerate(titles)}
    return {
        title: text[first : first + width].strip()
        for title, (first, width) in spans.items()
        if width and header[first : first + width].strip() == title
    }
