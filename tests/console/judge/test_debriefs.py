"""Nothing false is said in a debrief, and the judge finds each false presenter."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import pytest

from cluster.commands import parse
from console.game.symptoms import symptoms_of
from console.presenters.game.debrief import DebriefListing, ScoreListing, SymptomsListing, TruthListing
from console.presenters.list_view import Listing
from console.presenters.styled_text import plain
from recordings.game.referee import Referee
from recordings.game.score import played_game
from recordings.journal.reader import Recording
from tests.console.judge.debrief_judge import DebriefJudge
from tests.console.judge.false_debriefs import FALSE_DEBRIEFS
from tests.console.judge.grammar import Verdict
from tests.support.game.flown_game import flown_game
from tests.support.game.scripted_player import ScriptedPlayer

WIDTH = 120
Flown = Callable[[int, int], Path]


class Hasty(ScriptedPlayer):
    """Accuses a broker before it has looked, then plays on."""

    def look(self, now_s: float, screens: Mapping[str, str]) -> list[str]:
        first = [] if self.said else ["slow broker-1 broker-2"]
        return [*first, *super().look(now_s, screens)]


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> Flown:
    @lru_cache(maxsize=4)
    def make(level: int, seed: int) -> Path:
        path = tmp_path_factory.mktemp("game") / "game.flight"
        flown_game(level, seed, path, Hasty())
        return path

    return make


def rows(listing: Listing) -> list[str]:
    return [plain(row) for key in listing.row_keys() for row in listing.rows(key)]


def judged(path: Path) -> Verdict:
    played = played_game(path)
    symptoms = symptoms_of(path, played)
    panels = {
        "debrief": rows(DebriefListing(played, WIDTH)),
        "truth": rows(TruthListing(played, symptoms, WIDTH)),
        "score": rows(ScoreListing(played, WIDTH)),
        "symptoms": rows(SymptomsListing(played, symptoms, WIDTH)),
    }
    judge = DebriefJudge(path, played.length_us)
    verdict = judge.judge(panels)
    judge.judge_answers(answers(path, len(played.faults)), verdict)
    return verdict


def answers(path: Path, faults: int) -> list[tuple[int, str]]:
    """What the player is told after each command: a notice of the console."""
    referee, commands = Referee(faults), Recording(path).survey().commands
    told = [(one.at_us, referee.take(parse(one.command), one.source, one.at_us)) for one in commands]
    return [one for one in told if one[1]]


@pytest.mark.parametrize(("level", "seed"), [(1, 0), (3, 1), (6, 2)])
def test_nothing_false_is_said_of_a_game(flown: Flown, level: int, seed: int) -> None:
    verdict = judged(flown(level, seed))
    assert verdict.claims > 12
    assert verdict.false == []


@pytest.mark.parametrize("false", FALSE_DEBRIEFS, ids=lambda false: false.__name__)
def test_a_false_debrief_is_found(
    flown: Flown, monkeypatch: pytest.MonkeyPatch, false: Callable[[pytest.MonkeyPatch], None]
) -> None:
    path = flown(1, 0)
    false(monkeypatch)
    assert judged(path).false != []
