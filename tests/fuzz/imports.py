"""The target that is a cluster of one's own: what Kafka's tools print, configurations and lag series, spoilt."""

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random

from console.cli.imports.import_files import words_of_import
from console.visible import visible
from recordings.bounded_files import RecordingError
from recordings.importing.make import keep_scenario, read_files, scenario_of
from tests.fuzz.engine import Target
from tests.fuzz.mutation import mutated_bytes, mutated_text
from tests.support.raw_text import raw_in
from tests.support.repository import ROOT

PRINTED = ROOT / "tests" / "fidelity" / "tools" / "4.3.1.json"
CONFIGURATIONS = ROOT / "tests" / "recordings" / "lint" / "cases"
LAGS = tuple(
    "time;group;lag\n" + "".join(f"{at};billing;{max(0, (at - 60) * 7 % 400)}\n" for at in range(0, 300, step))
    for step in (1, 15)
)
SERIES = json.dumps(
    {
        "status": "success",
        "data": {
            "resultType": "matrix",
            "result": [
                {
                    "metric": {"consumergroup": "billing", "topic": "orders"},
                    "values": [[at, str(at % 90)] for at in range(0, 600, 15)],
                }
            ],
        },
    }
)
WORDS = (
    "billing",
    "orders",
    "PARTITION",
    "\t",
    " - ",
    "Leader: ",
    "Configs:",
    "bootstrap.servers",
    ":",
    ";",
    "lag",
    "NaN",
)

Files = list[tuple[str, bytes]]


@cache
def bases() -> dict[str, tuple[str, ...]]:
    """Right texts by the suffix of their files."""
    looks = json.loads(PRINTED.read_text("utf-8"))["looks"]
    found = {".txt": tuple(look["printed"] for look in looks.values() if look["printed"])}
    for suffix in (".properties", ".yaml"):
        found[suffix] = tuple(path.read_text("utf-8") for path in sorted(CONFIGURATIONS.glob(f"*/*/*{suffix}")))
    return found | {".csv": LAGS, ".json": (SERIES,)}


def _files(random: Random) -> Files:
    """One to three files, each spoilt as text or as bytes."""
    made: Files = []
    for number in range(random.choice((1, 1, 2, 3))):
        suffix = random.choice(sorted(bases()))
        text = mutated_text(random, bases()[suffix], WORDS).encode("utf-8", "surrogatepass")
        made.append((f"{number}{suffix}", mutated_bytes(random, text) if random.random() < 0.3 else text))
    return made


def _feed(made: Files) -> bool:
    """Import them: the scenario is one that can be read, and nothing raw is printed."""
    place = Path(tempfile.mkdtemp(prefix="fuzz-import-"))
    try:
        for name, content in made:
            (place / name).write_bytes(content)
        imported = scenario_of(read_files([place / name for name, _ in made]), "Imported", "")
        keep_scenario(imported, place / "made.toml")
        assert raw_in(visible(words_of_import(imported, Path("made.toml"))), "\n\t") == ""
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return True


IMPORTS = (Target("import", 20, (RecordingError,), _files, _feed),)
