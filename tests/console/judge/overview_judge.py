"""Judges the overview: counts of groups, brokers, producers, topics and faults, sparklines and lag arrows."""

import re
from itertools import pairwise
from statistics import median

from cluster.config import Value
from tests.console.judge.books import Books
from tests.console.judge.consumer_group_judge import ConsumerGroupJudge
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.group_books import GroupBook
from tests.console.judge.lag_judge import LagJudge
from tests.console.judge.operations import operation_says
from tests.console.judge.producer_books import ProducerBook
from tests.console.judge.reasons import Reasons
from tests.console.judge.seen_table import Table
from tests.console.judge.spoken import DURATION, bytes_says, counts, says, stopped_says
from tests.console.judge.transactions_judge import GLYPHS

D = f"({DURATION})"
LEVELS = "▁▂▃▄▅▆▇█"
MINUTE = 60


class OverviewJudge:
    """The overview's tables at one instant."""

    def __init__(self, books: Books, now_us: int, verdict: Verdict) -> None:
        self.books, self.now_us, self.verdict = books, now_us, verdict

    # --- groups -----------------------------------------------------------------------------------------------------

    def group(self, name: str, header: str, row: str, arrow_is_amber: bool) -> None:
        """One line of the table of groups."""
        group, place, read = self.books.groups[name], f"overview, group {name}", self.verdict.read
        number = next(one for one in ("gen/epoch", "gen", "epoch") if one in header)
        right = {number: max(4, len(number)), "members": 13 if "silent)" in row else 7, "lag": 6, "time lag": 8}
        table = Table(header, row, right, ("group", "state", "last minute", "rebalance"))
        read(place, table.cell("state") or "", ((r"\S (\w+)", lambda m: m[1] == group.state),))
        read(place, f"generation {table.cell(number)}", self._generation(group))
        if (members := table.cell("members")) is not None:
            read(f"{place}, members", members, self._members(group))
        header_lag = re.search(r"(?<!time )\blag\b", header)
        assert header_lag is not None
        lag = row[header_lag.end() - 6 : header_lag.end()].strip()
        self.verdict.claim(counts(lag, self.books.lag(group)), place, f"lag {lag}, not {self.books.lag(group)}")
        if (trend := table.cell("last minute")) is not None:
            self._trend(group, trend, arrow_is_amber)
        if (late := table.cell("time lag")) is not None:
            behind = self.books.lag(group) > 0
            self.verdict.claim(late == "–" or behind, place, f"time lag {late} without lag")
        if (words := table.cell("rebalance")) is not None and not words.endswith("…"):
            read(f"{place}, rebalance", words, self._rebalance(group))

    @staticmethod
    def _generation(group: GroupBook) -> Sentences:
        return (
            (r"generation (\d+)", lambda m: int(m[1]) == group.generation > 0),
            ("generation –", lambda _: not group.generation),
        )

    def _members(self, group: GroupBook) -> Sentences:
        rebalance = group.under_way
        opened = rebalance is not None and rebalance.completed is None
        silent = sum(
            name not in self.books.members or self.books.members[name].silent(member_id)
            for member_id, name in group.members.items()
        )
        return (
            (
                r"(\d+)/(\d+)",
                lambda m: (
                    rebalance is not None
                    and group.new is not None
                    and (int(m[1]), int(m[2])) == (self._new(group).done, len(group.new.members))
                ),
            )
            if group.new is not None
            else (
                r"(\d+)/(\d+)",
                lambda m: (
                    rebalance is not None
                    and opened
                    and int(m[1]) == len(rebalance.joins)
                    and int(m[2]) == len(group.members) + len(group.pending)
                ),
            ),
            (r"(\d+)", lambda m: not opened and not silent and int(m[1]) == len(group.members)),
            (
                r"(\d+) \((\d+) silent\)",
                lambda m: not opened and (int(m[1]), int(m[2])) == (len(group.members), silent) and silent > 0,
            ),
        )

    def _new(self, group: GroupBook) -> ConsumerGroupJudge:
        return ConsumerGroupJudge(self.books, group, group.new, self.now_us)

    def _trend(self, group: GroupBook, text: str, amber: bool) -> None:
        """The sparkline covers the last minute, has its peak, and the arrow shows the direction of lag."""
        place, samples = f"overview, trend of {group.name}", self.books.lags.get(group.name, [])
        if not samples:
            return
        second = samples[-1][0]
        arrow = text[-1] if text and text[-1] in "→↗↘" else ""
        drawn = text[:-2] if arrow else text.rstrip()
        self._picture(drawn, samples, second, place)
        last = [lag for at, lag in samples if at > second - MINUTE]
        if not self.books.quiet_since(self.now_us):
            self._arrow(arrow, last, amber, place, self.books.lag(group))

    def _picture(self, drawn: str, samples: list[tuple[int, int]], second: int, place: str) -> None:
        width = len(drawn)
        shown = {at: lag for at, lag in samples if second - MINUTE < at <= second}
        cells = drawn.strip()
        whole = second - samples[0][0] >= MINUTE
        self.verdict.claim(not whole or len(cells) >= width - 1, place, f"{drawn!r} is shorter than a minute")
        seconds = MINUTE / max(1, width)
        edge = second - MINUTE + 1 + int(seconds)  # the oldest cell may be gone already, when the newest is not full
        highest = max(shown.values(), default=0)
        tops = {highest, max((lag for at, lag in shown.items() if at >= edge), default=0)}
        for index, cell in enumerate(drawn):
            if cell == " ":
                continue
            latest = second - (width - 1 - index) * seconds + 1
            near = [lag for at, lag in shown.items() if latest - 2 * seconds - 1 <= at <= latest + seconds]
            levels = {min(7, lag * 8 // (top + 1)) for lag in near for top in tops}
            self.verdict.claim(
                LEVELS.index(cell) in levels, place, f"{cell} in cell {index} of {drawn!r}, not {levels}"
            )
        if highest and shown and whole:
            least = min(6, highest * 8 // (highest + 1))  # a peak of 1 or 2 fills no cell
            tallest = max(LEVELS.index(cell) for cell in cells)
            self.verdict.claim(tallest >= least, place, f"{drawn!r} hides the peak of {highest}")

    def _arrow(self, arrow: str, last: list[int], amber: bool, place: str, now: int) -> None:
        half = last[-30:]
        if len(half) < 10:
            self.verdict.claim(not arrow, place, f"an arrow from {len(half)} samples")
            return
        third = max(1, len(half) // 3)
        early, late = half[:third], half[-third:]
        slack = max(10, (max(half) - min(half)) // 20)
        middles = median(early), median(late)  # one peak of a moment hides no rise of all the others
        rose = max(late) > max(early) - slack or min(late) > min(early) - slack or middles[0] + slack < middles[1]
        fell = min(late) < min(early) + slack or max(late) < max(early) + slack or middles[0] > middles[1] + slack
        steady = all(a + 10 < b for a, b in pairwise(half)) or max(half) - min(half) < 10
        truth = {
            "": not any(half) or not now,
            "↗": rose and now > 0,
            "↘": fell,
            "→": not steady or max(half) - min(half) < 10,
        }
        self.verdict.claim(truth.get(arrow, False), place, f"{arrow!r} for {half}")
        if amber:
            minute = len(last) >= MINUTE and min(last[-15:]) > min(last[:15])
            self.verdict.claim(arrow == "↗" and minute, place, f"amber for {last}")

    def _rebalance(self, group: GroupBook) -> Sentences:
        rebalance, last = group.under_way, group.rebalances[-1] if group.rebalances else None
        coordinator, reasons = self.books.coordinator(group), Reasons(self.books, group, self.now_us)
        absent = reasons.absent_from(rebalance) if rebalance is not None else {}
        if rebalance is not None and group.state == "CompletingRebalance" and coordinator.state == "up":
            absent = {
                one: name for one, name in group.members.items() if name == group.leader and one not in rebalance.synced
            }

        def awaited(match: "re.Match[str]") -> bool:
            known = any(reasons.holds(one, name, match[3]) for one, name in absent.items() if name == match[1])
            syncs = group.state == "CompletingRebalance"  # of several processes of one name one leads
            return known and int(match[2] or 0) == (0 if syncs else len(absent) - 1)

        def holds(match: "re.Match[str]") -> bool:
            if last is None or rebalance is not None:
                return False
            return stuck is None and (
                (match["cause"], match["who"] or last.trigger) == (last.cause, last.trigger)
                and (match["took"] is None or says(match["took"], last.over_us - last.started_us))
                and says(match["ago"], self.now_us - last.over_us)
                and (match["stopped"] is None or stopped_says(match["stopped"], group.stopped_us(last)))
            )

        lag = LagJudge(self.books, group, self.now_us, self.verdict)
        stuck = lag.stuck()
        return (
            *(lag.overview() if rebalance is None else ()),
            (
                r"✖ (?:coordinator )?broker-(\d+) (?:is )?(down|frozen|restarted|loading).*",
                lambda m: (int(m[1]), m[2]) == coordinator,
            ),
            ("✖ no coordinator", lambda _: coordinator.state == "no leader"),
            (
                rf"↻ initial delay: {D}",
                lambda m: rebalance is not None and rebalance.initial and says(m[1], rebalance.closes_us - self.now_us),
            ),
            *(
                ()
                if group.new is None
                else tuple((f"↻ {pattern}", true) for pattern, true in self._new(group).overview())
            ),
            (
                rf"↻ (\S+?)(?: and (\d+) more)?, within {D}",
                lambda m: (
                    rebalance is not None
                    and m[1] in absent.values()
                    and int(m[2] or 0) == len(absent) - 1
                    and says(m[3], rebalance.closes_us - self.now_us)
                ),
            ),
            (r"↻ (\S+?)(?: and (\d+) more)?: (.+)", awaited),
            (r"↻ ([a-z ]+)", lambda m: rebalance is not None and m[1] == rebalance.cause and not absent),
            ("none yet", lambda _: last is None and rebalance is None and stuck is None),
            (
                (
                    rf"(?P<cause>[a-z ]+?)(?: \((?P<who>[^)]+)\))?(?: · (?:took )?(?P<took>{DURATION}))?"
                    rf"(?: · stopped (?P<stopped>\S+) partition-s)? · (?P<ago>{DURATION}) ago"
                ),
                holds,
            ),
        )

    # --- brokers, producers, topics, faults -------------------------------------------------------------------------

    def broker(self, number: int, header: str, row: str) -> None:
        """One line of the table of brokers; `+n` are partitions of internal topics."""
        cluster, place = self.books.cluster, f"overview, broker-{number}"
        book = cluster.brokers[number]
        table = Table(header, row, {"leads": 7, "ISR out": 7}, ("broker", "state", "coordinates"))
        led = [one for one in cluster.partitions.values() if one.leader == number]
        internal = sum(cluster.topics[one.topic].internal for one in led)
        leads = f"{len(led) - internal} +{internal}"
        self.verdict.claim(table.cell("leads") == leads, place, f"leads {table.cell('leads')}, not {leads}")
        out = sum(one.lacks(number) for one in cluster.partitions.values())
        self.verdict.claim(
            table.cell("ISR out") in {None, str(out)}, place, f"ISR out {table.cell('ISR out')}, not {out}"
        )
        self.verdict.claim(("◆" in row) == (cluster.controller == number), place, "controller")
        name = "up" if book.up else "silent"
        name = "down" if book.fenced and not book.up else name
        if book.up:
            begins = "starting" if book.fenced or not book.serves else "up"
            waits = "stopping" if book.stopping else "fenced" if book.fenced and book.registered else begins
            name = "frozen" if book.frozen else waits
        faulty = any(f"broker-{number}" in fault.text.split() for fault in cluster.faults.values())
        self.verdict.read(
            place,
            table.cell("state") or "",
            ((r"▲ .+", lambda _: faulty and name == "up"), (r"\S (\w+)", lambda m: m[1] == name)),
        )
        coordinates = table.cell("coordinates")
        if coordinates is not None and "…" not in coordinates:
            groups = self.books.groups.values()
            mine = [one.name for one in groups if cluster.partitions[one.coordinator_partition].leader == number]
            self.verdict.claim(coordinates.strip() == ", ".join(mine), place, f"coordinates {coordinates!r}")

    def producer(self, name: str, declared: dict[str, Value], header: str, row: str) -> None:
        """One line of the table of producers."""
        book, place = self.books.cluster.producers[name], f"overview, producer {name}"
        right = {"acked/s": 7, "failed": 6, "retries": 7, "in flight": 9, "buffer": 11}
        left = ("producer", "state", "last minute", "last error", "transaction", "oldest request", "oldest batch")
        table = Table(header, row, right, left)
        self._clocks(book, declared, place, table)
        self.verdict.read(place, table.cell("state") or "", ((r"\S (\w+)", lambda m: m[1] == book.state),))
        waited_us = self.now_us - book.waiting_us
        still = book.waits and waited_us >= 5_000_000 + 1_000 * book.limit(declared, "linger.ms")
        alarm = still or name in self.books.outdated_producers()
        self.verdict.claim(("▲" in row) == alarm, place, f"{'sends' if not alarm else 'does not send'}: {row!r}")
        if re.search(rf"no ack for {D}", row):
            self.verdict.claim(still, place, row)
        self.verdict.read(
            f"{place}, last error",
            (table.cell("last error") or "").strip(),
            (
                ("", lambda _: not book.error),
                (r"(\w+)", lambda m: m[1] == book.error),
                (rf"no ack for {D}", lambda m: not book.error and says(m[1], waited_us)),
                (rf"no ack for {D}, (\w+)", lambda m: m[2] == book.error and says(m[1], waited_us)),
            ),
        )
        for title, truth in (("failed", book.failed), ("retries", book.retries)):
            text = table.cell(title)
            self.verdict.claim(text is None or counts(text, truth), place, f"{title} {text}, not {truth}")
        if (match := re.search(r"\backed\b(?!/)", header)) is not None:
            text = row[match.end() - 6 : match.end()].strip()
            self.verdict.claim(counts(text, book.acked), place, f"acked {text}, not {book.acked}")
        self._transaction(name, f"{place}, transaction", (table.cell("transaction") or "").strip())
        rate = (table.cell("acked/s") or "").removesuffix("/s")
        self.verdict.claim(rate_says(self.books, name, self.now_us, rate), place, f"acked/s {rate}")

    def _transaction(self, name: str, place: str, text: str) -> None:
        """The transaction of its producer id, unless the producer's epoch is fenced."""
        if not text or "…" in text:
            return
        known = [story.identity for story in self.books.lives.producers.values() if story.identity is not None]
        given = self.books.lives.producers[name].identity
        one = self.books.transactions.of_producer(given.producer_id) if given is not None else None
        if given is None or one is None or one.last is None:
            self.verdict.claim(text == "–", place, text)
            return
        old = any(each.producer_id == given.producer_id and each.epoch > given.epoch for each in known)
        old = old or name in self.books.outdated_producers()
        epochs, state, started_us = (given.epoch, one.last.epoch), one.state, one.started_us

        def mine(m: "re.Match[str]") -> bool:
            return not old and (m[1], m[2]) == (GLYPHS[state], state)

        self.verdict.read(
            place,
            text,
            (
                (r"epoch (\d+), now (\d+)", lambda m: old and (int(m[1]), int(m[2])) == epochs),
                (r"(\S) (\w+)", lambda m: started_us < 0 and mine(m)),
                (rf"(\S) (\w+) {D}", lambda m: mine(m) and says(m[3], self.now_us - started_us)),
            ),
        )

    def _clocks(self, book: ProducerBook, declared: dict[str, Value], place: str, table: Table) -> None:
        """Requests in flight, the oldest request and batch, the buffer, each of its limit."""
        runs = book.state in {"Running", "Paused"}
        sent_us = min((one.sent_us for one in book.requests), default=None)

        def age(since_us: int | None, key: str) -> Sentences:
            limit_us = 1_000 * book.limit(declared, key)
            return (
                ("–", lambda _: not runs or since_us is None),
                (
                    rf"{D} of {D}",
                    lambda m: (
                        runs and since_us is not None and says(m[1], self.now_us - since_us) and says(m[2], limit_us)
                    ),
                ),
            )

        most = book.limit(declared, "max.in.flight.requests.per.connection")
        memory = book.limit(declared, "buffer.memory")
        cells: dict[str, Sentences] = {
            "in flight": (
                ("–", lambda _: not runs),
                (r"(\d+)/(\d+)", lambda m: runs and int(m[1]) == book.most_in_flight <= int(m[2]) == most),
            ),
            "oldest request": age(sent_us, "request.timeout.ms"),
            "oldest batch": age(book.oldest_us, "delivery.timeout.ms"),
            "buffer": (
                ("–", lambda _: not runs),
                (
                    r"(\S+)/((\S+) (\w+))",
                    lambda m: runs and bytes_says(f"{m[1]} {m[4]}", book.held) and bytes_says(m[2], memory),
                ),
            ),
        }
        for title, sentences in cells.items():
            text = (table.cell(title) or "").strip()
            if text and "…" not in text:
                self.verdict.read(f"{place}, {title}", text, sentences)

    def topic(self, name: str, row: str, stuck: set[str]) -> None:
        """The text after a topic's cells: rate and health."""
        cluster, place = self.books.cluster, f"overview, topic {name}"
        partitions = cluster.of_topic(name)
        leaderless = sum(one.leader < 0 for one in partitions)
        dead = sum(not cluster.is_led(one) for one in partitions)
        under = sum(len(one.isr) < one.wanted for one in partitions)
        below = sum(len(one.isr) < cluster.least(one) for one in partitions)
        held = len(stuck & {one for one, each in cluster.partitions.items() if each.topic == name})
        health = re.search(r"(✖|▲|▽|‖|●) (?:\d+ [A-Za-z -]+|all in sync)$", row.rstrip())
        if health is None:
            self.verdict.claim(False, place, f"unknown claim: {row!r}")
            return
        self.verdict.read(
            place,
            health[0],
            (
                (r"✖ (\d+) without a leader", lambda m: int(m[1]) == leaderless > 0),
                (r"✖ (\d+) led by a dead broker", lambda m: int(m[1]) == dead > 0 and not leaderless),
                (r"▽ (\d+) below min ISR", lambda m: int(m[1]) == below > 0 and not dead),
                (r"▲ (\d+) under-replicated", lambda m: int(m[1]) == under > 0 and not dead and not below),
                (r"‖ (\d+) held back", lambda m: int(m[1]) == held > 0 and not under and not dead),
                ("● all in sync", lambda _: not under and not dead and not held),
            ),
        )

    def fault(self, number: int, header: str, row: str) -> None:
        """One line of the table of faults."""
        cluster, place = self.books.cluster, f"overview, fault {number}"
        fault = cluster.faults.get(number)
        self.verdict.claim(fault is not None, place, row)
        if fault is None:
            return
        table = Table(header, row, {"since": 7, "ends in": 7}, ("fault",))
        self.verdict.claim(fault.text[:14] in row, place, f"{row!r}, not {fault.text!r}")
        since = table.cell("since") or ""
        self.verdict.claim(says(since, self.now_us - fault.at_us), place, f"since {since}")
        left = table.cell("ends in") or ""
        ends = left == "–" if fault.ends_at_us < 0 else says(left, fault.ends_at_us - self.now_us)
        self.verdict.claim(ends, place, f"ends in {left}")

    def operation(self, header: str, row: str) -> None:
        """One line of an operation under way."""
        table = Table(header, row, {"since": 7, "ends in": 7}, ("fault",))
        since, left = table.cell("since") or "", table.cell("ends in") or ""
        right = [
            one
            for one in self.books.cluster.operations(self.now_us)
            if says(since, self.now_us - one.begun.at_us)
            and (left == "–" if one.over_us() is None else says(left, (one.over_us() or 0) - self.now_us))
            and operation_says(row.partition("↻")[2].strip(), one, self.now_us)
        ]
        self.verdict.claim(bool(right), "overview, operation", row)

    def all_operations(self, shown: int) -> None:
        """Every operation under way has a line."""
        here = len(self.books.cluster.operations(self.now_us))
        self.verdict.claim(shown == here, "overview, operations", f"{shown} lines for {here} operations")


def rate_says(books: Books, name: str, now_us: int, rate: str) -> bool:
    """Whether a producer's records acknowledged in the last whole second are written like this, `–` before one."""
    samples, acked = [*books.acked.get(name, [])[-2:]], books.cluster.producers[name].acked
    if samples and samples[-1][0] < now_us // 1_000_000:  # nothing has happened since the second began
        samples = [samples[-1] if samples[-1][0] == now_us // 1_000_000 - 1 else (0, acked), (0, acked)]
    if len(samples) < 2 or (rate == "–" and not acked):
        return rate == "–"
    return rate != "–" and counts(rate, samples[1][1] - samples[0][1])
