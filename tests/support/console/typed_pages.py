"""What stands in the pages for something of the reader's own, or would take too long, and what a test takes instead."""

from tests.support.console.typed_block import StandIn

OWN = "a recording of the reader's own"
LOCAL = "the master of the test run: one process has one session of Spark"
SHORT = "a shorter flight"
PORT = StandIn("--metrics 9308", "--metrics 0", "any free port")

STAND_INS: dict[str, tuple[StandIn, ...]] = {
    "alerts.md": (
        StandIn("RECORDING…", "incident.flight", OWN),
        StandIn("--games 300", "--games 1", "fewer games"),
    ),
    "bench.md": (
        StandIn("flightdeck bench  ", "flightdeck bench reference-s --until 1s --rounds 1  ", "one short round"),
        StandIn("reference-xl --until 10s --rounds 3", "reference-s --until 1s --rounds 2", "a smaller load"),
        StandIn("my-load.toml", "my-load.toml --until 1s --rounds 1", "one short round"),
    ),
    "cluster.md": (
        StandIn("night.flight", "incident.flight", OWN),
        StandIn("spark://HOST:7077", "local[2]", LOCAL),
        StandIn("s3://BUCKET/night", "file://$PWD/night", "no object store"),
        StandIn("s3a://BUCKET/night", "night", "no object store"),
    ),
    "compare.md": (
        StandIn("seq 1 12", "seq 1 2", "fewer seeds"),
        StandIn("run dynamic-restart", "run dynamic-restart --until 30s", SHORT),
    ),
    "game.md": (),
    "import.md": (),
    "lint.md": (),
    "metrics.md": (
        PORT,
        StandIn("--speed 10 ", "--speed 1000 ", "a quicker playback"),
        StandIn(
            "run slow-dependency --speed 1", "run slow-dependency --speed 20 --until 10s", "a shorter, quicker flight"
        ),
    ),
    "plan.md": (StandIn("--seeds 8", "--seeds 1 --until 10s", "fewer and shorter flights"),),
    "prove.md": (
        StandIn("--until 30s", "--until 9s", "fewer crash points"),
        StandIn("--until 10700ms", "--until 10010ms", "fewer crash points"),
        StandIn("my-scenario.toml billing", "my-scenario.toml billing --from 5s --until 5050ms", "fewer crash points"),
    ),
    "raster.md": (
        StandIn("eager-cooperative-consumer", "eager-cooperative-consumer --until 20s", SHORT),
        StandIn("--at 2m", "--at 12s", "the recording here is shorter"),
    ),
    "read.md": (StandIn("orders.session", "g04.session", "the group of the log here"),),
    "sweep.md": (
        StandIn("examples/sweeps/how-long-silent.toml", "short.toml", "the same file with one seed and 30 s"),
        StandIn("FILE", "short.toml", "a file of the reader's own"),
        StandIn("spark://127.0.0.1:PORT", "local[2]", LOCAL),
    ),
    "tutorial.md": (StandIn("expired.flight", "incident.flight", OWN),),
}
"""By page: each text that a block of it has, with what replaces it."""

BY_SPARK = ("alerts.md", "cluster.md", "compare.md", "sweep.md")
"""Their commands run in the process that has the session of the test run."""

NOT_RUN = {
    "flightdeck report RECORDING… --out DIR --alerts": "a report takes ten seconds; tests/spark/test_across_flights.py",
    "flightdeck standalone --workers 2": "until Ctrl-C; tests/spark/sweep/test_sweeps.py starts such a cluster",
    "pip install 'pyspark[connect]'": "the environment of the tests has it",
    "flightdeck report EXPORT --out DIR --master spark": "a report of exported tables is above; it takes ten seconds",
    "flightdeck report EXPORT --out DIR --master sc://HOST:15002": "a server; tests/spark/test_on_clusters.py has one",
    "spark-submit --master yarn": "YARN; tests/spark/test_on_clusters.py submits to local[2]",
    "flightdeck read server.log --out incident.flight --follow": "until Ctrl-C; tests/console/cli/test_read.py",
}
"""Beginnings of lines that are only checked as command lines (test_page_commands.py), and why."""
