"""`python -m tests.fidelity.recorder.tools`: what Kafka's own tools print of a real cluster, kept as data.

Three brokers and a controller. What a tool prints (stdout, then stderr) is kept by the name of the look, with the words
of its command, in `tests/fidelity/tools/RELEASE.json`.
"""

import argparse
import json
import tempfile
from pathlib import Path

from tests.fidelity.recorder.cluster import RealCluster, Release
from tests.fidelity.recorder.tool_runner import Tools
from tests.fidelity.recorder.tool_sessions import PARTS
from tests.support.scenario_builders import spec

KEPT = Path(__file__).parents[1] / "tools"


def main() -> None:
    """Record every look anew, or those of one part."""
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity.recorder.tools", description="Look with the tools.")
    parser.add_argument("--release", default="4.3.1", help="of Kafka, as Maven has it")
    parser.add_argument("--first-port", type=int, default=19_700, help="brokers have the ports after it")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "flightdeck-recorder")
    parser.add_argument("--only", choices=sorted(PARTS), help="record this part; the others' looks stay as they are")
    options = parser.parse_args()
    release = Release(options.release, options.work)
    options.work.mkdir(parents=True, exist_ok=True)
    release.prepare()
    cluster = RealCluster(release, spec(until_s=1), options.work / "tools", options.first_port)
    tools = Tools(release, cluster)
    try:
        cluster.start()
        for part in [options.only] if options.only else PARTS:
            PARTS[part](tools)
    finally:
        for process in tools.processes:
            process.kill()
        cluster.end()
    KEPT.mkdir(exist_ok=True)
    kept = KEPT / f"{options.release}.json"
    looks = json.loads(kept.read_text("utf-8"))["looks"] if options.only else {}
    others = {name: look for name, look in looks.items() if name not in tools.kept}  # what is new keeps its order
    text = json.dumps({"release": options.release, "looks": others | tools.kept}, indent=1)
    kept.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
