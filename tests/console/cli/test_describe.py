"""`flightdeck describe` as a user gives it."""

from pathlib import Path

import pytest

from console.cli.execution import main

RESET = "kafka-consumer-groups.sh --reset-offsets --group new --topic payments --to-earliest"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["describe", *words])
    printed = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, printed.out, printed.err


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("described") / "hanging"
    with pytest.raises(SystemExit):
        main(["run", "hanging-transaction", "--record", str(path)])
    return path


def test_a_subject_and_a_pasted_line_are_the_same(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = run(capsys, "topics", str(recording), "--at", "20s", "--exclude-internal")
    line = "$ /opt/kafka/bin/kafka-topics.sh --bootstrap-server=kafka:9092 --describe --exclude-internal"
    assert run(capsys, line, str(recording), "--at", "20s")[:2] == (code, text)
    assert code == 0
    assert "\tPartition: 0\tLeader: " in text


def test_a_hanging_transaction_is_found(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        run(
            capsys, "hanging", str(recording), "--at", f"{at}s", "--topic", "payments", "--max-transaction-timeout", "0"
        )[1]
        for at in (20, 90, 140)
    ]
    assert [len(text.splitlines()) for text in found] == [1, 2, 1], found


def test_records_go_on_where_they_were_cut_off(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["records", str(recording), "--topic", "payments", "--partition", "0"]
    whole = [line for line in run(capsys, *words)[1].splitlines() if line.startswith("| offset: ")]
    code, out, err = run(capsys, *words, "--from", "3", "--max", "4")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("| offset: ")] == whole[3:7]
    assert "goes on: --from 7" in out + err
    line = "kafka-dump-log.sh --files /data/payments-0/00000000000000000000.log --print-data-log"
    assert run(capsys, line, str(recording), "--from", "3", "--max", "4")[1] == out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["records"], 2, "argument --topic is required"),
        (["records", "--topic", "payments", "--partition", "99"], 2, "payments has no partition 99"),
        (["records", "--topic", "payments", "--partition", "0", "--max", "0"], 2, "0 is less than 1"),
        (["kafka-dump-log.sh --files 0.log"], 2, "is in no partition's folder"),
        (["groups", "--group", "nobody"], 1, "GroupIdNotFoundException: Group nobody not found."),
        (["topics", "--topic", "["], 1, "Error while executing topic command : [ is an invalid regex."),
        (["kafka-topics.sh --list --topic '*'"], 1, "Error while executing topic command : * is an invalid regex."),
        (["topics", "--topic", "nowhere"], 1, "Topic 'nowhere' does not exist as expected"),
        (["offsets", "--topic", "nowhere"], 1, "Error occurred: Could not match any topic-partitions"),
        (["offsets", "--topic", "a++"], 2, "Flightdeck does not read this expression"),
        (["offsets", "--topic", "payments", "--time", "earliest"], 0, "payments:1:0"),
        (["groups", "--membres"], 2, "did you mean --members"),
        (["group", "--state"], 2, "did you mean groups"),
        (["kafka-topics.sh --list | grep orders"], 2, "`|` is the shell's: leave it out"),
        (["kubectl exec kafka-0 -- kafka-topics.sh --list"], 0, "payments"),
        (["producers"], 2, "argument --topic is required"),
        (["producers", "--topic", "orders", "--partition", "x"], 2, "`x` is not a whole number"),
        (["groups", "--at", "900h"], 2, "ends at"),
        (["kafka-acls.sh --list"], 2, "the cluster has no authorization"),
        (["kafka-topics.sh --delete --topic orders"], 2, "changes a cluster"),
        ([f"{RESET} --execute"], 2, "changes a cluster"),
        ([RESET], 0, "NEW-OFFSET"),
        ([f"{RESET} --dry-run --export"], 0, "payments,0,0\npayments,1,0\n"),
        ([f"{RESET} --group other --export"], 0, "new,payments,0,0\nnew,payments,1,0\nother,payments,0,0\n"),
        ([f"{RESET} --group {'g' * 25} --export"], 0, f'"{"g" * 25}",payments,0,0\n'),
        (["group-list", "--state", "Stble"], 2, "Invalid state list 'Stble'. Valid states are: PreparingRebalance"),
        (["group-list", "--type", "classic,share"], 2, "Invalid types list 'classic,share'. Valid types are: Consumer"),
        (["kafka-topics.sh --describe --topic 'orders"], 2, "not closed"),
        (["kafka-topics.sh --list --describe"], 2, "exactly one action"),
        (["configs", "--entity-type", "users"], 2, "is not described here"),
    ],
)
def test_what_cannot_be_described_is_said(
    recording: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    first, *more = words
    ended, out, err = run(capsys, first, str(recording), *more)
    assert (ended, said in out + err) == (code, True), out + err
    assert "Traceback" not in err


def test_a_recording_in_the_place_of_the_subject_is_said(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended, _, err = run(capsys, str(recording), "groups")
    said = f"`{recording}` is a directory: write `flightdeck describe SUBJECT RECORDING`"
    assert (ended, said in err.replace("\n", " ")) == (2, True), err


def test_an_option_in_the_place_of_the_recording_is_said(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended, _, err = run(capsys, "groups", "--members", str(recording))
    assert (ended, "the recording comes before --members" in err.replace("\n", " ")) == (2, True), err


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("kafka-topics.sh --alter --topic payments --partitions 4", 0, "add partitions payments to 4 would hit"),
        ("kafka-topics.sh --alter --topic payments --partitions 1", 1, "1 would not be an increase"),
        ("kafka-consumer-groups.sh --reset-offsets --group audit --all-topics --to-latest --execute", 1, "is inactive"),
        (
            "kafka-consumer-groups.sh --reset-offsets --group new --topic payments --to-latest --execute",
            2,
            "no group is named new",
        ),
        ("kafka-consumer-groups.sh --reset-offsets --group new --topic payments --to-latest", 0, "NEW-OFFSET"),
        ("kafka-reassign-partitions.sh --execute", 2, "Missing required argument"),
    ],
)
def test_what_a_pasted_line_would_hit(capsys: pytest.CaptureFixture[str], line: str, code: int, said: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["impact", "hanging-transaction", line, "--at", "10s"])
    printed = capsys.readouterr()
    assert (ended.value.code, said in printed.out + printed.err) == (code, True), printed


def test_a_fork_takes_pasted_lines(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "kafka-topics.sh --bootstrap-server kafka:9092 --alter --topic payments --partitions 4"
    forked = str(tmp_path / "forked")
    with pytest.raises(SystemExit):
        main(["fork", str(recording), "--at", "20s", "--until", "25s", "--do", line, "--record", forked])
    assert "PartitionCount: 4" in run(capsys, "topics", forked, "--exclude-internal")[1]
