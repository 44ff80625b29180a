"""`flightdeck raster`: who owned each partition when, as text or SVG for a post-mortem."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.arguments import Salvage
from console.cli.errors import HELD, UsageError
from console.cli.options import AllowCode, Seed, Sets, Until, duration_of, leave_of, settings_of
from console.cli.streams import print_text

if TYPE_CHECKING:
    from cluster.view import ClusterView
    from recordings.scenarios.custom_code import Leave


def raster(  # noqa: PLR0913 - options
    sources: Annotated[
        list[str], Parameter(help="A recording's directory, or a scenario; two are drawn on one axis.", negative="")
    ],
    /,
    *,
    group: Annotated[
        list[str] | None, Parameter(help="The group; may be repeated: groups are drawn on one axis.", negative="")
    ] = None,
    last: Annotated[
        str | None, Parameter(help="Only the last part, e.g. 2m; default: the whole flight.", allow_leading_hyphen=True)
    ] = None,
    out: Annotated[Path | None, Parameter(help="Write a new file, .svg or .txt; default: print text.")] = None,
    until: Until = None,
    seed: Seed = None,
    settings: Sets = None,
    salvage: Salvage = False,
    allow_code: AllowCode = False,
) -> int:
    """Draw ownership over time: partitions × time, with gaps where a partition is unowned."""
    until_us, last_us, changes = duration_of("--until", until), duration_of("--last", last), settings_of(settings)
    _refuse(out)
    flights = [_Drawn(source, until_us, seed, changes, leave_of(allow_code), salvage) for source in sources]
    end_us = min(flight.end_us for flight in flights)
    from console.presenters.raster.axis import axis_for
    from console.presenters.raster.files import SaveError, write_new
    from console.presenters.raster.listing import axis_width
    from console.presenters.raster.picture import WIDTH, Picture, RasterSubject, svg_of, text_of
    from console.themes.palettes import PRINT_HUES
    from recordings.flights import interruption

    subjects: list[RasterSubject] = []
    for flight, name in zip(flights, _names(sources), strict=True):
        view = flight.view_at(end_us)
        if interruption.was_asked():
            raise UsageError("interrupted: nothing is drawn")
        chosen = _groups(view, group)
        subjects += [RasterSubject(view, view.groups[one], f"{name}{one}") for one in chosen]
    title = " and ".join(dict.fromkeys(flight.title for flight in flights))
    picture = Picture(title, subjects, axis_for(end_us, axis_width(WIDTH), last_us or 0))
    text = text_of(picture) if out is None or out.suffix == ".txt" else svg_of(picture, PRINT_HUES)
    if out is None:
        print_text(text.rstrip("\n"))
        return HELD
    try:
        write_new(out, text)
    except SaveError as error:
        raise UsageError(f"--out: {error}") from None
    print_text(f"written: {out}")
    return HELD


def _refuse(out: Path | None) -> None:
    """Refuse a file before anything is flown for it. Raises UsageError."""
    if out is not None and out.suffix not in {".svg", ".txt"}:
        raise UsageError(f"--out {out}: the name ends with .svg or .txt")
    if out is not None and out.exists():
        raise UsageError(f"--out: {out} already exists; choose another name, or remove it first")


def _names(sources: list[str]) -> list[str]:
    """What tells two flights apart; nothing for one."""
    if len(sources) == 1:
        return [""]
    names = [Path(source).name.removesuffix(".flight") or source for source in sources]
    return [f"{name}: " for name in (names if len(set(names)) == len(names) else sources)]


def _groups(view: "ClusterView", wanted: list[str] | None) -> list[str]:
    """The groups to draw. Raises UsageError for an unknown one, or where one has to be named."""
    known = list(view.groups)
    listed = ", ".join(known) or "none"
    if wanted is None:
        if len(known) == 1:
            return known
        raise UsageError(f"--group: name one of the groups: {listed}")
    for name in wanted:
        if name not in view.groups:
            raise UsageError(f"--group {name}: the flight has no such group; its groups are: {listed}")
    return list(dict.fromkeys(wanted))


class _Drawn:
    """A recording, or a scenario that is flown for the picture, up to `end_us`. Raises RecordingError and others."""

    def __init__(
        self,
        source: str,
        until_us: int | None,
        seed: int | None,
        changes: list[tuple[str | None, str, str]],
        leave: "Leave | None",
        salvage: bool,
    ) -> None:
        if Path(source).is_dir():
            from recordings.journal.keyframes import Keyframes
            from recordings.journal.playback import Playback
            from recordings.journal.reader import Recording

            if seed is not None or changes:
                raise UsageError(f"{source} is a recording: --seed and --set are for scenarios")
            self._playback = Playback(Recording(Path(source), salvage=salvage), Keyframes(Path(source)))
            header = self._playback.recording.header
            self.title = f"{header.scenario} · seed {header.settings.seed}"
            self.end_us = self._playback.end_us if until_us is None else min(until_us, self._playback.end_us)
            self._plan = None
            return
        from recordings.flights.runner import make_plan
        from recordings.scenarios.loader import load

        self._plan = make_plan(load(source), seed=seed, until_us=until_us, settings=changes, leave=leave)
        if self._plan.settings.until_us is None:
            raise UsageError(f"{source} has no end: say --until")
        self.title = f"{self._plan.scenario} · seed {self._plan.settings.seed}"
        self.end_us = self._plan.settings.until_us

    def view_at(self, at_us: int) -> "ClusterView":
        """The state at an instant."""
        from recordings.flights.runner import view_at

        if self._plan is not None:
            return view_at(self._plan, at_us)
        self._playback.seek_us(at_us)
        return self._playback.view
