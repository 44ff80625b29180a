"""`flightdeck lint`: exit codes, formats, facts; and nothing of a file reaches the terminal raw, secrets not at all."""

import json
from pathlib import Path

import pytest

from recordings.lint.rules import rules
from tests.support.console.command_processes import Flightdeck

WRONG = "group.id=billing\nsesion.timeout.ms=1000\nmax.poll.interval.ms=20m\n"
SECRET = "hunter2-Tr0ub4dor"


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "billing.properties"
    path.write_text(WRONG)
    return path


def test_a_finding_has_file_line_key_suggestion_and_lesson(flightdeck: Flightdeck, wrong: Path) -> None:
    ended = flightdeck("lint", wrong)
    assert ended.code == 1
    assert f"{wrong}:2: warning: Nothing reads this key.\n    sesion.timeout.ms → session.timeout.ms\n" in ended.out
    assert "to see it: flightdeck --scenario session-expired" in ended.out
    assert ended.out.splitlines()[-1] == "1 file: 1 error, 1 warning"


def test_nothing_found_is_0_and_what_cannot_be_read_is_2(flightdeck: Flightdeck, wrong: Path, tmp_path: Path) -> None:
    right = tmp_path / "right.properties"
    right.write_text("group.id=billing\n")
    assert flightdeck("lint", right)[:2] == (0, "1 file: nothing found\n")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [\n")
    ended = flightdeck("lint", right, broken, wrong, tmp_path / "absent.properties", tmp_path / "notes.txt")
    assert ended.code == 2
    assert f"{broken}:2: it is not YAML" in ended.err
    assert "absent.properties: it cannot be read" in ended.err
    assert "notes.txt" in ended.err
    assert "2 files: 1 error, 1 warning" in ended.out
    assert flightdeck("lint", broken).out == "", "nothing was read, and so nothing is said of it"


def test_a_file_that_configures_nothing_of_kafka_is_said(flightdeck: Flightdeck, tmp_path: Path) -> None:
    for name in ("other.yaml", "other.properties"):
        (tmp_path / name).write_text("server.port: 80\n")
        ended = flightdeck("lint", tmp_path / name)
        assert ended == (
            0,
            "1 file: nothing found\n",
            f"flightdeck: note: {tmp_path / name}: it configures nothing of Kafka\n",
        )
    (tmp_path / "other.yaml").write_text("server.port: 80\nspring.kafka.consumer.group-id: billing\n")
    assert flightdeck("lint", tmp_path / "other.yaml").err == ""


def test_facts_and_ignored_rules_from_the_command_line(flightdeck: Flightdeck, tmp_path: Path) -> None:
    path = tmp_path / "a.properties"
    path.write_text("group.id=billing\nmax.poll.records=500\n")
    assert flightdeck("lint", path).code == 0
    ended = flightdeck("lint", path, "--fact", "per-record=2s")
    assert ended.code == 1
    assert "a.properties:2: error: 500 records at 2 s take 16 m 40 s" in ended.out
    assert flightdeck("lint", path, "--fact", "per-record=2s", "--ignore", "poll-outlasts-interval").code == 0
    path.write_text("# flightdeck: per-record=2s, ignore=poll-outlasts-interval\n" + path.read_text())
    assert flightdeck("lint", path).code == 0


def test_lesser_findings_are_left_out_when_it_is_asked_for(flightdeck: Flightdeck, wrong: Path) -> None:
    ended = flightdeck("lint", wrong, "--at-least", "error")
    assert (ended.code, ended.out.splitlines()[-1]) == (1, "1 file: 1 error")
    wrong.write_text("linger.ms=0\n")
    assert flightdeck("lint", wrong, "--at-least", "warning").code == 0
    assert flightdeck("lint", wrong).code == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [(("--fact", "restrat=3s"), "did you mean restart?"), (("--fact", "restart"), "write it like"),
     (("--fact", "instances=0"), "above 0"), (("--ignore", "short-sesion"), "did you mean short-session?"),
     (("--format", "xml"), "xml")],
)  # fmt: skip
def test_impossible_options_are_refused(
    flightdeck: Flightdeck, wrong: Path, words: tuple[str, ...], reason: str
) -> None:
    ended = flightdeck("lint", wrong, *words)
    assert (ended.code, ended.out) == (2, "")
    assert reason in ended.err


def test_json_has_every_field_of_a_finding(flightdeck: Flightdeck, wrong: Path) -> None:
    report = json.loads(flightdeck("lint", wrong, "--format", "json").out)
    first = report["findings"][0]
    assert (first["file"], first["line"], first["key"]) == (str(wrong), 2, "sesion.timeout.ms")
    assert (first["rule"], first["suggestion"]) == ("unknown-key", "session.timeout.ms")
    assert report["errors"] == []


def test_sarif_has_the_structure_of_2_1_0(flightdeck: Flightdeck, wrong: Path, tmp_path: Path) -> None:
    ended = flightdeck("lint", wrong, tmp_path / "absent.properties", "--format", "sarif")
    log = json.loads(ended.out)
    assert (ended.code, log["version"], log["$schema"]) == (2, "2.1.0", "https://json.schemastore.org/sarif-2.1.0.json")
    (run,) = log["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert ids == [rule.name for rule in rules()]
    assert run["invocations"][0]["executionSuccessful"] is False
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == f"file://{wrong}"
        assert place["region"]["startLine"] >= 1


def test_a_secret_is_never_printed(flightdeck: Flightdeck, tmp_path: Path) -> None:
    """Wherever it stands: in a password, a JAAS line, a value of a wrong type, an unknown key, a line that is none."""
    texts = {
        "a.properties": f"group.id={SECRET}\nssl.key.password={SECRET}\nsesion.timeout.ms={SECRET}\n"
        f"session.timeout.ms={SECRET}\nsasl.jaas.config=x required password=\"{SECRET}\";\nacks={SECRET}\n",
        "b.yaml": f"spring.kafka.consumer: {{max-poll-record: '{SECRET}', properties: {{sasl.jaas.config: {SECRET}}}}}",
        "c.yaml": f"password: {SECRET}: {SECRET}\n",
        "d.yaml": f"password: *{SECRET}\n",
        "e.properties": f"password=\\u{SECRET}\n",
        "f.toml": f'password = "{SECRET}\n',
    }  # fmt: skip
    files = []
    for name, text in texts.items():
        files.append(tmp_path / name)
        files[-1].write_text(text)
    for form in ("text", "json", "sarif"):
        ended = flightdeck("lint", *files, "--format", form)
        assert ended.code == 2
        assert SECRET not in ended.out + ended.err
    assert "session.timeout.ms is a whole number" in flightdeck("lint", files[0]).out


def test_nothing_of_a_file_reaches_the_terminal_raw(flightdeck: Flightdeck, tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m.properties"
    path.write_text("group.id=g\nsesion.timeout\\u001b.ms=1\nsesion.timeout.\x9bms=2\n")
    for form in ("text", "json", "sarif"):
        ended = flightdeck("lint", path, tmp_path / "\x1b.txt", "--format", form)
        assert not any(character in ended.out + ended.err for character in "\x1b\x9b")
    assert "sesion.timeout\\u001b.ms" in flightdeck("lint", path).out
