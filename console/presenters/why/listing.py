"""The overlay's lines: each answer with its facts, what ends it, and the commands that an operator may give."""

from cluster.view.state import ClusterView
from console.presenters.formatting import clock
from console.presenters.list_view import CONTINUED, Listing, NotThere
from console.presenters.producers.limits import ProducerConfigs
from console.presenters.styled_text import ACCENT, EMPTY, FAINT, MUTED, PLAIN, STRONG, Line, fit, line, wrapped
from console.presenters.why.answers import GLYPHS, Subject, WhyAnswer, WhyFacts
from console.presenters.why.questions import answers, is_known

COMMAND = "do "
FACT_INDENT = 17


class WhyListing(Listing):
    """The answers on one subject. A fact's key is its instant, a command's key its text after `COMMAND`."""

    def __init__(
        self,
        view: ClusterView,
        subject: Subject,
        now_us: int,
        session_us: int | None,
        width: int,
        configs: ProducerConfigs | None = None,
    ) -> None:
        super().__init__(width)
        self.title = f"why {subject.name}"
        self.vacant = NotThere(self.title, width, built=bool(view.brokers)).vacant
        self._rows: dict[str, Line] = {}
        known = bool(view.brokers) and is_known(view, subject)
        self.answers = answers(WhyFacts(view, now_us, session_us, configs), subject) if known else []
        for place, answer in enumerate(self.answers):
            self._answer(place, answer)

    def note(self) -> Line:
        """The keys of the overlay."""
        return line(("enter: to the instant · esc", FAINT))

    def row_keys(self) -> list[str]:
        """Facts and commands can be selected."""
        return list(self._rows)

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (fit(self._rows[key], self.width),)

    def _answer(self, place: int, answer: WhyAnswer) -> None:
        if self._rows:
            self._add("", [EMPTY])
        room = self.width - 1
        self._add("", wrapped(line((f"  {GLYPHS[answer.tone]} ", answer.tone), (answer.verdict, STRONG)), room, 4))
        for number, fact in enumerate(answer.facts):
            words = line((f"  {clock(fact.at_us, 3)}  ", ACCENT), (fact.text, PLAIN))
            self._add(f"{fact.at_us}/{place}.{number}", wrapped(words, room, FACT_INDENT))
        if answer.ends:
            self._add("", wrapped(line(("    ends: ", MUTED), (answer.ends, PLAIN)), room, 10))
        for text in answer.may:
            self._add(f"{COMMAND}{text}", [line(("    you can: ", MUTED), (text, ACCENT))])

    def _add(self, key: str, rows: list[Line]) -> None:
        for number, row in enumerate(rows):
            continued = f"{CONTINUED}{len(self._rows)}" if number or not key else ""
            self._rows[f"{key}{continued}"] = row
