"""The library's scenarios by name, and the file of their golden hashes."""

from tests.support.repository import ROOT

LIBRARY = sorted(path.stem for path in (ROOT / "recordings" / "library").glob("*.toml"))
GOLDEN = ROOT / "tests" / "scenarios" / "golden.json"
