"""Layouts of logs: JSON, containers, zones, a pattern of one's own; clocks that differ, archives, growing logs."""

import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from cluster.events import JoinBarrierCompleted
from recordings.bounded_files import RecordingError
from recordings.journal.reader import Recording
from recordings.log_reading.layouts import Layouts, Parsed
from recordings.log_reading.make import read_logs, reading_of
from recordings.log_reading.own_pattern import OwnPattern

AT_US = 1_795_756_211_123_000  # 2026-11-27 05:10:11.123 UTC
WORDS = "[GroupCoordinator id=1 topic=__consumer_offsets partition=3] Group g with generation 1 is now empty."
LOGGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"
DEFAULT = f"[2026-11-27 05:10:11,123] INFO {WORDS} ({LOGGER})"
JSON_LINE = json.dumps({"timeMillis": 1795756211123, "level": "INFO", "message": WORDS, "loggerName": LOGGER})
TEXTS = {
    "default": DEFAULT,
    "with T and a dot": f"[2026-11-27T05:10:11.123] INFO {WORDS} ({LOGGER})",
    "without brackets": f"2026-11-27 05:10:11,123 INFO {WORDS} ({LOGGER})",
    "Strimzi": f"2026-11-27 05:10:11,123 INFO {WORDS} ({LOGGER}) [group-coordinator-event-processor-1]",
    "a line of the source": f"[2026-11-27 05:10:11,123] INFO {WORDS} ({LOGGER}:70)",
    "colours": f"\x1b[32m2026-11-27 05:10:11,123\x1b[0m \x1b[1;32mINFO\x1b[0m {WORDS} ({LOGGER})",
    "a zone": f"2026-11-27T06:10:11.123+01:00 INFO {WORDS} ({LOGGER})",
    "UTC": f"2026-11-27T05:10:11.123Z INFO {WORDS} ({LOGGER})",
    "since 1970": f"1795756211123 INFO {WORDS} ({LOGGER})",
    "Kubernetes": f"2026-11-27T05:10:11.200123456Z stdout F {DEFAULT}",
    "Docker": json.dumps({"log": DEFAULT + "\n", "stream": "stdout", "time": "2026-11-27T05:10:11.2Z"}),
    "JsonTemplateLayout": json.dumps(
        {"@timestamp": "2026-11-27T05:10:11.123Z", "ecs.version": "1.2.0", "message": WORDS, "log.logger": LOGGER}
    ),
    "JSONLayout": json.dumps(
        {"instant": {"epochSecond": 1795756211, "nanoOfSecond": 123000000}, "loggerName": LOGGER, "message": WORDS}
    ),
    "milliseconds": json.dumps({"timeMillis": 1795756211123, "level": "INFO", "message": WORDS}),
    "a byte order mark": f"\ufeff{DEFAULT}",
    "Docker Compose": f"\x1b[36mkafka-1  |\x1b[0m {DEFAULT}",
    "journald": f"Nov 27 05:10:12 host kafka[4242]: {DEFAULT}",
    "journalctl -o short-iso": f"2026-11-27T06:10:13+0100 host kafka[4242]: {DEFAULT}",
    "kubectl logs --timestamps": f"2026-11-27T05:10:11.200123456Z {DEFAULT}",
    "kubectl logs --prefix": f"[pod/kafka-0/kafka] 2026-11-27T05:10:11.200123456Z {DEFAULT}",
    "JSON behind kubectl's instant": f"2026-11-27T05:10:11.200123456Z {JSON_LINE}",
    "JSON behind Docker Compose": f"\x1b[36mkafka-1  |\x1b[0m {JSON_LINE}",
    "JSON without an instant of its own": "[pod/kafka-0/kafka] 2026-11-27T05:10:11.123Z " + json.dumps({"msg": WORDS}),
    "an object of an array": f"{JSON_LINE},\r",
    "the last of an array": f"  {JSON_LINE}]",
    "Filebeat": json.dumps({"@timestamp": "2026-11-27T05:10:19.2Z", "message": DEFAULT}),
    "another field": json.dumps({"@timestamp": "2026-11-27T05:10:11.123Z", "level": "INFO", "text": WORDS}),
    "seconds": json.dumps({"ts": 1795756211.123, "msg": WORDS}),
    "JSON around text": json.dumps({"log": f"INFO {WORDS} ({LOGGER})", "time": "2026-11-27T05:10:11.123Z"}),
}
PATTERNS = {
    "%d{ISO8601} %p [%t] %m (%c)%n": f"2026-11-27 05:10:11,123 INFO [data-plane-1] {WORDS} (kafka.X)",
    "%d{ISO8601}{Europe/Berlin} %-5p %c{1.} - %m%n%throwable": f"2026-11-27T06:10:11,123 WARN  o.a.k.X - {WORDS}",
    "%p %d{dd/MMM/yyyy HH:mm:ss.SSS XXX} %msg": f"INFO 27/Nov/2026 07:10:11.123 +02:00 {WORDS}",
    "%d{UNIX_MILLIS};%level;%m;%logger": f"1795756211123;INFO;{WORDS};kafka.X",
    "100%% %d{yyyyMMdd'T'HHmmss,SSS} %m": f"100% 20261127T051011,123 {WORDS}",
    "%d{COMPACT} [%20.20t] %m": f"20261127051011123 [            thread-1] {WORDS}",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_instant_and_the_message_of_a_layout(text: str) -> None:
    parsed = Layouts().parse(text.encode() + b"\n")
    assert parsed.at_us == AT_US
    assert parsed.dated
    assert parsed.message.endswith(WORDS)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_of_one_s_own(pattern: str) -> None:
    assert Layouts(OwnPattern(pattern)).parse(PATTERNS[pattern].encode()) == Parsed(AT_US, True, WORDS)


@pytest.mark.parametrize("ending", ["(reason: left) [b]", "(a b)", "[main]", "(kafka.X) [a] [b]"])
def test_what_a_message_ends_with_is_no_logger(ending: str) -> None:
    assert Layouts().parse(f"{DEFAULT.partition(' (')[0]} {ending}\n".encode()).message.endswith(f". {ending}")


def test_a_pattern_with_the_time_alone_has_no_date() -> None:
    assert Layouts(OwnPattern("%d{ABSOLUTE} %m")).parse(b"00:00:01,500 x") == Parsed(1_500_000, False, "x")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("%p %m", "needs a date"),
        ("%d", "needs a date, %d, and a message"),
        ("%d %q %m", "`%q` is no conversion"),
        ("%d{yyyy-QQ} %m", "`QQ` in a date is not known"),
        ("%d{yyyy} %m", "needs year, month and day"),
        ("%d{ISO8601}{Mars/Base} %m", "`Mars/Base` is no time zone"),
        ("%d %m %m", "stands twice"),
        ("%d %m 5%", "begins no conversion"),
        ("5% %d %m", "begins no conversion"),
    ],
)
def test_a_pattern_that_cannot_be_read_is_refused_with_the_place(pattern: str, reason: str) -> None:
    with pytest.raises(RecordingError, match=reason):
        OwnPattern(pattern)


@pytest.mark.parametrize(
    "line",
    [
        b'{"message": ', b'{"message": 7, "time": "x"}', b"{}", b'{"log": 7}', b'{"log":"{}"}', b"\xff\xfe{",
        b'{"instant": {"epochSecond": "1"}}', b'{"time": 1e400}', b'{"time": "99999999999999999999999"}', b"",
        b"[2026-13-40 05:10:11,123] x", b"[2026-11-27 05:10:11,1234567890123] x", b"2026-11-27T05:10:11.1Z stdout F ",
        b'{"log":"' + b'{\\"log\\":' * 60 + b'"}',
        b"2026-11-27T05:10:11.1Z stdout F " * 1_500,
    ],
)  # fmt: skip
def test_a_line_in_no_layout_has_no_instant_or_a_message(line: bytes) -> None:
    parsed = Layouts().parse(line)
    assert parsed.at_us is None or isinstance(parsed.at_us, int)


def test_lines_without_a_known_instant_are_counted_of_every_writer(tmp_path: Path) -> None:
    """A damaged object, a client's line without an instant, and dates that no log has."""
    damaged = json.dumps({"@timestamp": "2026-11-27T05:10:11.123Z", "message": WORDS})[:-9]
    far = [json.dumps({"time": seconds, "message": WORDS}) for seconds in (1e300, -1e15, 99_999_999_999_999_999_999)]
    client = "today [Consumer clientId=a, groupId=g] Revoke previously assigned partitions t-0"
    (tmp_path / "log").write_text("\n".join([DEFAULT, damaged, *far, client]) + "\n")
    reading = read_logs([tmp_path / "log"], tmp_path / "read")
    assert (reading.matched, reading.files[0].without_instant) == (1, 5)


def test_lines_that_do_not_fit_a_pattern_are_refused_with_the_pattern(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(DEFAULT + "\n")
    with pytest.raises(RecordingError, match=r"1 line of brokers and clients does not fit --pattern `%d %m \(%c\)`"):
        read_logs([tmp_path / "log"], tmp_path / "read", pattern="%d %m (%c)")


def text(second: float, group: str) -> str:
    return DEFAULT.replace("11,123", f"{second:06.3f}".replace(".", ",")).replace(" g ", f" {group} ") + "\n"


def groups(path: Path) -> list[tuple[int, str]]:
    return [
        (event.at_us, event.group)
        for event in Recording(path, logs=True).events()
        if isinstance(event, JoinBarrierCompleted)
    ]


def test_clocks_that_differ_are_set_by_a_stated_offset(tmp_path: Path) -> None:
    one, two = tmp_path / "one.log", tmp_path / "two.log"
    one.write_text(text(1, "a") + text(3, "b"))
    two.write_text(text(2.5, "c"))
    read_logs([one, two], tmp_path / "as they are")
    assert groups(tmp_path / "as they are") == [(0, "a"), (1_500_000, "c"), (2_000_000, "b")]
    read_logs([one, two], tmp_path / "set", clocks={two: 750_000})
    assert groups(tmp_path / "set") == [(0, "a"), (2_000_000, "b"), (2_250_000, "c")]
    assert [file.clock_us for file in reading_of(tmp_path / "set").files] == [0, 750_000]


def test_logs_that_were_compressed_are_read_as_they_are(tmp_path: Path) -> None:
    words = (text(1, "a") + text(2, "b")).encode()
    (tmp_path / "plain").write_bytes(words)
    (tmp_path / "server.log.1.gz").write_bytes(gzip.compress(words))
    (tmp_path / "server.log.2.zst").write_bytes(zstandard.compress(words))
    for name in ("plain", "server.log.1.gz", "server.log.2.zst"):
        read_logs([tmp_path / name], tmp_path / f"{name} read")
        assert groups(tmp_path / f"{name} read") == [(0, "a"), (1_000_000, "b")]
    (tmp_path / "spoilt.gz").write_bytes(gzip.compress(words)[:-8] + b"CRC?" + gzip.compress(words)[-4:])
    with pytest.raises(RecordingError, match=r"cannot read the log .*spoilt\.gz"):
        read_logs([tmp_path / "spoilt.gz"], tmp_path / "spoilt")


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_of_a_compressed_log_that_is_cut_off_the_whole_lines_are_read(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    draw = random.Random(7)
    text = "".join(f"{draw.random()}\n" for _ in range(9_000)) + DEFAULT + "\n"
    text = f"{DEFAULT}\n" * 3 + text
    (tmp_path / "whole").write_bytes(compress(text.encode()) * 2)
    (tmp_path / "cut").write_bytes(compress(text.encode())[:-900])
    whole, cut = (read_logs([tmp_path / name], tmp_path / f"{name}.flight").files[0] for name in ("whole", "cut"))
    assert (whole.lines, whole.cut_short, cut.cut_short) == (18_008, False, True)
    assert 3 < cut.lines < 9_004
    assert cut.coordinator == 3
    (tmp_path / "nothing").write_bytes(compress(text.encode())[:12])
    with pytest.raises(RecordingError, match="the compressed log is cut off, and no whole line"):
        read_logs([tmp_path / "nothing"], tmp_path / "nothing.flight")


@pytest.mark.parametrize(
    ("begin", "reason"),
    [
        (gzip.compress(b"x"), "is compressed, and a compressed log does not grow; read it without --follow"),
        (zstandard.compress(b"x"), "is compressed, and a compressed log does not grow; read it without --follow"),
        ("x".encode("utf-16"), "is in UTF-16"),
    ],
    ids=["gzip", "zstd", "UTF-16"],  # gzip's bytes hold the time: each worker of a run would have another name
)
def test_a_log_that_cannot_be_followed_is_refused(begin: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(begin)
    with pytest.raises(RecordingError, match=reason):
        read_logs([tmp_path / "server.log"], tmp_path / "read", goes_on=lambda: False)


def test_a_pipe_is_not_followed(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "wb") as pipe:
        pipe.write(DEFAULT.encode())
        pipe.flush()
        with pytest.raises(RecordingError, match=rf"/dev/fd/{reading} is a pipe, and --follow reads files"):
            read_logs([Path(f"/dev/fd/{reading}")], tmp_path / "read", goes_on=lambda: False)


def test_a_directory_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(RecordingError, match=r"cannot read the log .*logs: it is a directory; name the logs in it$"):
        read_logs([tmp_path / "logs"], tmp_path / "read")
    with pytest.raises(RecordingError, match=r"cannot read the log .*logs: it is a directory; name the logs in it$"):
        read_logs([tmp_path / "logs"], tmp_path / "read", goes_on=lambda: False)


def test_a_log_in_utf_16_is_named_with_a_way_to_convert_it(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(DEFAULT.encode("utf-16"))
    with pytest.raises(RecordingError, match=r"is in UTF-16; convert it, e\.g\. iconv -f UTF-16 -t UTF-8 server\.log"):
        read_logs([tmp_path / "server.log"], tmp_path / "read")


def test_a_line_that_one_log_has_twice_at_an_instant_counts_twice(tmp_path: Path) -> None:
    for name, lines in (("one", 3), ("other", 2)):
        (tmp_path / name).write_text(f"{DEFAULT}\n" * lines, encoding="utf-8")
    reading = read_logs([tmp_path / "one", tmp_path / "other"], tmp_path / "read")
    assert (reading.matched, reading.repeated) == (3, 2)


def test_a_log_that_grows_is_followed_over_its_rotation(tmp_path: Path) -> None:
    log, numbers = tmp_path / "server.log", []
    log.write_text(text(1, "a") + text(2, "half")[:40])

    def written(words: str) -> None:
        with log.open("a") as file:
            file.write(words)

    def rotated() -> None:
        log.rename(tmp_path / "server.log.1")
        written(text(4, "d"))

    steps: list[Callable[[], object]] = [
        lambda: written(text(2, "half")[40:]),
        lambda: written(text(3, "c")),
        rotated,
        *[lambda: None] * 6,
    ]

    def goes_on() -> bool:
        if steps:
            steps.pop(0)()
        return bool(steps)

    read_logs([log], tmp_path / "read", goes_on=goes_on, listener=lambda _, event: numbers.append(event.seq))
    assert [group for _, group in groups(tmp_path / "read")] == ["a", "half", "c", "d"]
    recording = Recording(tmp_path / "read", logs=True)
    assert recording.survey().totals.complete
    assert numbers == list(range(1, recording.survey().totals.events + 1))


def test_logs_one_behind_the_other_in_one_file_are_merged_and_a_clock_that_was_set_is_not(tmp_path: Path) -> None:
    log = tmp_path / "both.log"
    log.write_text(text(31, "a") + text(51, "c") + text(21, "first") + text(41, "b"))
    read_logs([log], tmp_path / "read")
    assert groups(tmp_path / "read") == [(0, "first"), (10_000_000, "a"), (20_000_000, "b"), (30_000_000, "c")]
    assert reading_of(tmp_path / "read").backwards == 0
    log.write_text(text(31, "a") + text(51, "c") + text(45, "d"))
    read_logs([log], tmp_path / "set")
    assert groups(tmp_path / "set") == [(0, "a"), (20_000_000, "c"), (20_000_000, "d")]
    assert reading_of(tmp_path / "set").backwards == 1


def test_lines_of_logs_that_overlap_count_once(tmp_path: Path) -> None:
    """The same file twice, a copy of its end, and the file behind itself."""
    one, end, double = tmp_path / "one.log", tmp_path / "end.log", tmp_path / "double.log"
    one.write_text(text(1, "a") + text(1, "b") + text(23, "c"))
    end.write_text(text(23, "c") + text(24, "d"))
    double.write_text(one.read_text() + one.read_text())
    read_logs([one, one, end, double], tmp_path / "read")
    assert groups(tmp_path / "read") == [(0, "a"), (0, "b"), (22_000_000, "c"), (23_000_000, "d")]
    reading = reading_of(tmp_path / "read")
    assert (reading.matched, reading.repeated, reading.backwards) == (4, 10, 0)


def test_a_log_with_its_newest_line_first_is_refused(tmp_path: Path) -> None:
    lines = [text(second, "a") for second in range(20, 0, -1)]
    (tmp_path / "log").write_text("".join(lines))
    with pytest.raises(RecordingError, match="the newest line is the first; turn the log round"):
        read_logs([tmp_path / "log"], tmp_path / "read")
    assert not (tmp_path / "read").exists()
    (tmp_path / "log").write_text("".join(reversed(lines)))
    assert read_logs([tmp_path / "log"], tmp_path / "read").backwards == 0
