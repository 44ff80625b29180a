"""Commands in the palette: each with its arguments; chosen, it is begun on the line, or given if it needs nothing."""

import pkgutil
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module

import pytest
import textual
from textual.command import CommandList
from textual.css.query import NoMatches
from textual.widget import Widget
from textual.worker import WorkerFailed

from cluster.commands import COMMANDS, is_built
from console.screens.palette import ConsolePalette, ConsoleProvider, Entry
from console.time_input import Instant
from tests.support.console import recorded_flight
from tests.support.console.pilot import Seat, sit


def entries(seat: Seat) -> dict[str, Callable[[], object]]:
    provider = ConsoleProvider(seat.app.screen)
    found: list[Entry] = list(provider._commands())
    return {entry.name: entry.do for entry in found}


def test_every_built_command_is_there_and_is_begun_on_the_line() -> None:
    async def script(seat: Seat) -> None:
        offered = entries(seat)
        assert set(offered) == {form.usage for form in COMMANDS if is_built(form.command)}
        offered["scale GROUP to N [for DURATION]"]()
        await seat.settle()
        line = seat.app.input_line()
        assert line is not None
        assert line.is_open
        assert line.input.value == "scale "
        await seat.press("escape")
        offered["fail over controller"]()
        await seat.settle()
        assert seat.asked == ["fail over controller"]

    sit(script)


def found(seat: Seat, query: str) -> dict[str, Entry]:
    """What the palette finds while it is open over the screen, as a person sees it."""
    provider = ConsoleProvider(seat.app.screen_stack[-2])
    provider._on_disk = [*provider._scenarios(), *provider._recordings()]
    matcher = provider.matcher(query)
    return {entry.name: entry for entry in provider._entries() if matcher.match(entry.name) > 0}


def test_the_palette_knows_the_selection_below_it() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing-2")
        await seat.settle()
        await seat.press("ctrl+p")
        stalls = found(seat, "stall")
        assert not stalls["stall poll"].words.startswith("not now")
        assert "stall billing-2 for 1m" in stalls
        assert "start billing-2" in found(seat, "start billing")
        assert "already running" in found(seat, "start billing-2")["start billing-2"].words

    sit(script)


def test_in_a_recording_the_palette_forks_as_the_fault_menu_does() -> None:
    async def script(seat: Seat) -> None:
        seat.app.seek(Instant(6_500_000))
        await seat.settle()
        seat.app.go("billing-2")
        await seat.settle()
        await seat.press("ctrl+p")
        offered = found(seat, "a") | found(seat, "stall billing-2")
        for name, typed in (("stall billing-2 for 1m",) * 2, ("scale GROUP to N [for DURATION]", "scale ")):
            assert offered[name].words.startswith("forks from this instant")
            await seat.press("escape")
            offered[name].do()
            await seat.settle()
            line = seat.app.input_line()
            assert line is not None
            assert line.input.value == f"fork do {typed}"

    sit(script, app=recorded_flight.app())


def test_the_palette_finds_objects_scenarios_and_recordings() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("ctrl+p")
        every = found(seat, "a")
        for name in ("checkout-1", "broker-2", "orders", "ledger-1"):
            assert any(entry.endswith(f" {name}") for entry in found(seat, name)), name
        assert "go billing" in found(seat, "billing")
        assert "go producer checkout-1" in found(seat, "checkout-1")
        assert "go producer billing-2" not in found(seat, "billing-2"), "its application has no producer"
        assert "go partition orders-1" in found(seat, "ordrs1") or "go partition orders-1" in found(seat, "orders-1")
        assert "run deploy-storm" in found(seat, "deploystorm")
        assert any(name.startswith("play ") for name in found(seat, "play "))
        for transaction in seat.app.flight.view.transactions:
            assert f"transactional id {transaction}" in found(seat, transaction)
        assert all(entry.words for entry in every.values())

    sit(script)


def test_what_cannot_be_done_comes_last() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing-2")
        await seat.settle()
        hits = [hit async for hit in ConsoleProvider(seat.app.screen).discover()]
        refused = [(hit.help or "").find("not now") >= 0 for hit in hits]
        assert refused == sorted(refused)
        assert len(set(refused)) == 2

    sit(script)


def test_the_palette_asks_before_a_recording_in_progress_ends() -> None:
    async def script(seat: Seat) -> None:
        source = seat.app.flight.source
        source.recording = "mine.flight"  # type: ignore[misc]
        await seat.press("ctrl+p")
        run = found(seat, "run first-flight")["run first-flight"]
        run.do()
        assert "still recording to mine.flight; enter again ends the flight here" in seat.notices()
        assert seat.app.flight.source is source
        await seat.press("escape", "colon")
        await seat.type("run deploy-storm")
        await seat.press("enter")
        line = seat.app.input_line()
        assert line is not None
        assert line.is_open
        assert "still recording to mine.flight" in line.feedback.plain_text()
        await seat.press("enter")
        await seat.wait_for(lambda: seat.app.flight.source is not source)

    sit(script)


def test_a_search_may_outlive_its_palette() -> None:
    """A script, or a live flight that ends, takes the palette away while it searches; the console goes on."""

    async def script(seat: Seat) -> None:
        await seat.press("ctrl+p")
        palette = seat.app.screen
        assert isinstance(palette, ConsolePalette)
        await palette.query_one(CommandList).remove()
        await palette._gather_commands("go").wait()  # as a key does

    sit(script)


def test_a_search_whose_list_is_there_does_not_lose_its_error() -> None:
    def unlike(_: object) -> None:
        raise NoMatches("another node")

    async def script(seat: Seat) -> None:
        await seat.press("ctrl+p")
        palette = seat.app.screen
        assert isinstance(palette, ConsolePalette)
        with pytest.raises(WorkerFailed):
            await palette.run_worker(partial(unlike, palette), exit_on_error=False).wait()

    sit(script)


def test_the_line_is_readable_after_the_palette_and_another_theme() -> None:
    """The palette brings Textual's styles with it; a theme applies every style again."""

    async def script(seat: Seat) -> None:
        await seat.press("ctrl+p")
        await seat.press("escape")
        await seat.press("T")
        await seat.press(":", *"kill")
        line = seat.app.input_line()
        assert line is not None
        assert line.size.height == 2 + line.feedback.size.height
        assert line.input.region.height == 1
        assert line.region.contains_region(line.input.region)
        assert line.input.render_line(0).text.startswith("kill")

    sit(script)


def classes(of: type[Widget]) -> Iterator[type[Widget]]:
    """A class of widgets and all that derive from it."""
    yield of
    for one in of.__subclasses__():
        yield from classes(one)


def test_no_widget_has_the_name_of_one_of_textual() -> None:
    """Textual's styles name their widgets by the class alone: one of ours with that name would get them, too."""
    for module in pkgutil.walk_packages(textual.__path__, "textual."):
        if module.name.startswith("textual.widgets.") and not module.name.startswith("textual.widgets._"):
            import_module(module.name)
    every = [*classes(Widget)]
    ours = {one.__name__ for one in every if one.__module__.startswith("console.")}
    theirs = {one.__name__ for one in every if one.__module__.startswith("textual.")}
    assert {"PromptLine", "ConsolePalette"} <= ours
    assert "CommandInput" in theirs  # of the palette
    assert ours & theirs == set()


def test_the_palette_opens_again_before_the_one_before_is_gone() -> None:
    async def script(seat: Seat) -> None:
        for _ in range(3):
            seat.app.action_palette()
            seat.app.pop_screen()
        seat.app.action_palette()
        seat.app.action_palette()
        await seat.settle()
        assert [type(screen) for screen in seat.app.screen_stack].count(ConsolePalette) == 1

    sit(script)
