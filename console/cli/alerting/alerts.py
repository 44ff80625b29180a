"""`flightdeck alerts`: lag alert rules, scored on recordings whose faults are known."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from console.cli.arguments import Json, Salvage
from console.cli.errors import HELD, UsageError, warn
from console.cli.streams import print_text


def alerts(
    paths: Annotated[
        list[Path],
        Parameter(name="[RULES.toml] RECORDING", help="A rule file (.toml), if any; then recordings.", negative=""),
    ],
    /,
    *,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Score lag alert rules on recordings: delay from fault to alert, missed faults, false alerts."""
    from console.cli.alerting.leaderboard import of_alerts
    from recordings.alerts.rules import CLASSIC, load_rules
    from recordings.alerts.scoring import score
    from recordings.alerts.watch import watch

    given = paths[0] if paths[0].suffix == ".toml" else None
    recordings = paths[1:] if given is not None else paths
    if not recordings:
        raise UsageError("name at least one recording after the rule file")
    rules = load_rules(given or CLASSIC)
    flights = [watch(path, rules, salvage=salvage) for path in recordings]
    for flight in flights:
        warn(flight.warnings)
    board = score(flights, rules)
    if json:
        report = {
            "rules": rules,
            "leaderboard": board,
            "flights": [
                {"recording": one.recording, "faults": one.faults, "alerts": one.alerts, "warnings": one.warnings}
                for one in flights
            ],
        }
        print_text(msgspec.json.encode(report).decode())
    else:
        print_text(of_alerts(board, flights))
    return HELD
