"""Which theme the console is shown in."""

from collections.abc import Callable

from textual.app import App

from console.settings import SettingsFile
from console.terminal_output import filter_colours
from console.themes.names import DARK, DESCRIPTIONS, MONO, TERMINAL, THEME_NAMES
from console.themes.palettes import THEMES
from console.themes.styles import Styles, WithoutColours, styles_of


class Theming:
    """The theme of an application: dark, or monochrome where NO_COLOR asks for no colours.

    A theme that the user chooses is remembered in `settings_file`; one that NO_COLOR or an option brought is not.
    """

    def __init__(self, app: App[None], settings_file: Callable[[], SettingsFile]) -> None:
        self._app, self._settings_file = app, settings_file
        self._few_colours = False
        self._styles: tuple[object, Styles] | None = None  # what they were made for, and they
        for theme in THEMES:
            app.register_theme(theme)
        app.theme = MONO if app.no_color else DARK
        if app.no_color:
            filter_colours(app, WithoutColours(lambda: app.theme_variables))

    def recall(self) -> None:
        """Show the theme of the last time; the default for one that is not there any more."""
        theme = self._settings_file().settings.theme
        if not self._app.no_color:
            self._app.theme = theme if theme in self._app.available_themes else DARK

    def start(self, name: str | None) -> None:
        """Start on a terminal, in the theme that `--theme NAME` names.

        Without a name, and without a theme of the last time, a terminal of sixteen colours keeps its own. Pictures and
        scripts do not call this: they look alike on every machine.
        """
        app = self._app
        self._few_colours = app.console.color_system == "standard"
        if name is not None:
            app.theme = THEME_NAMES[name]
        elif self._few_colours and not app.no_color and not self._settings_file().settings.theme:
            app.theme = TERMINAL

    @property
    def styles(self) -> Styles:
        """The styles of tones in the current theme."""
        app, filters = self._app, self._app.get_line_filters()
        made_for = app.theme, filters, self._few_colours
        if self._styles is None or self._styles[0] != made_for:
            self._styles = made_for, styles_of(app.theme, app.theme_variables, filters, few_colours=self._few_colours)
        return self._styles[1]

    def choose(self, theme: str) -> None:
        """Show a theme from now on, say so, and remember it."""
        app, settings_file = self._app, self._settings_file()
        app.theme = theme
        app.notify(f"theme: {DESCRIPTIONS[theme]}", timeout=2)
        if not app.no_color:  # without colours it was not chosen for its colours
            settings_file.settings.theme = theme
            refusal = settings_file.save()
            if refusal:
                app.notify(refusal, severity="warning")

    def next(self) -> None:
        """Choose the next theme."""
        names = list(DESCRIPTIONS)
        index = names.index(self._app.theme) if self._app.theme in names else -1
        self.choose(names[(index + 1) % len(names)])
