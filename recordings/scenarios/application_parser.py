"""`[group.application]` tables: what the members of a group do with records."""

from typing import Final, get_args

from cluster.config import Value
from cluster.spec import (
    ApplicationSpec,
    CommitPolicy,
    FailSpec,
    OnRevoked,
    OutputSpec,
    PoisonSpec,
    ProcessingSpec,
    RetriesSpec,
    SlowKeysSpec,
)
from recordings.scenarios.toml_tables import (
    ReadError,
    TomlTable,
    duration,
    filled_text,
    filled_words,
    flag,
    number,
    one_of,
    shown,
    whole,
)

MOST_RETRIES = 100
MOST_FAN_OUT = 1_000
"""Records that an application writes to a topic for one input."""


def read_application(table: TomlTable, config: dict[str, Value]) -> ApplicationSpec:
    """Read a `[group.application]` table; `config`: the consumer keys of its group."""
    application = ApplicationSpec(
        per_record_us=table.take("per_record", duration, 0),
        jitter=table.take("jitter", number(0, 1), 0.0),
        commit=_commit(table, config),
        writes=table.take("writes", filled_text, None),
        outputs=tuple(_output(each) for each in table.tables("outputs")),
        sink=table.take("sink", filled_text, None),
        poison=_poison(table.table("poison")) if table.has("poison") else None,
        restart_after_us=table.take("restart_after", duration, None),
        processing=_processing(table.table("processing")) if table.has("processing") else None,
        slow_keys=_slow_keys(table.table("slow_keys")) if table.has("slow_keys") else None,
        worker_threads=table.take("worker_threads", whole(1, MOST_WORKERS), 0),
        queue=table.take("queue", whole(1), 1_000),
        fail=_fail(table.table("fail")) if table.has("fail") else None,
        retries=_retries(table.table("retries")) if table.has("retries") else None,
        dead_letter=table.take("dead_letter", filled_text, None),
        producer=table.config("producer", "producer"),
        on_revoked=table.take("on_revoked", on_revoked, "nothing"),
        revoke_takes_us=table.take("revoke_takes", duration, 0),
    )
    if table.has("writes") and table.has("outputs"):
        table.wrong("outputs", "outputs: `writes` is the short form for one output: use only one of them")
    for key, reason in (("per_record", "use only one of them"), ("jitter", "it needs `per_record`")):
        if table.has("processing") and table.has(key):
            table.wrong(key, f"{key}: `processing` gives a time to each record: {reason}")
    table.known += ["poison", "processing", "slow_keys", "fail", "retries"]
    if table.has("queue") and not table.has("worker_threads"):
        table.wrong("queue", "queue needs worker_threads: without them poll()'s thread processes the records")
    table.close()
    return application


MOST_WORKERS: Final = 1_000
"""Worker threads of one member."""

_MEANT: Final[dict[str, CommitPolicy]] = {
    **dict.fromkeys(
        ("sync", "commitsync", "manual", "manualimmediate", "batch", "ack", "atleastonce"), "after-each-poll"
    ),
    **dict.fromkeys(("commitasync", "asynchronous", "nonblocking"), "async"),
    **dict.fromkeys(("before", "first", "atmostonce"), "before-processing"),
    **dict.fromkeys(("exactlyonce", "exactlyoncev2", "eos", "transactional", "transactions", "tx"), "transaction"),
    **dict.fromkeys(("none", "off", "no", "false", "disabled"), "never"),
    **dict.fromkeys(("automatic", "periodic", "on", "true", "default"), "auto"),
}
"""Words of clients and frameworks for a commit policy, without marks between their letters."""


def _policy(value: object) -> CommitPolicy:
    """A commit policy; another word for one is refused with the one that it means."""
    policies = get_args(CommitPolicy)
    word = "".join(letter for letter in str(value).lower() if letter.isalnum())
    if value not in policies and word in _MEANT:
        raise ReadError(f"{shown(value)} is none of {', '.join(policies)}", _MEANT[word])
    policy: CommitPolicy = one_of(*policies)(value)
    return policy


def on_revoked(value: object) -> OnRevoked:
    """What a rebalance listener does in onPartitionsRevoked."""
    does: OnRevoked = one_of(*get_args(OnRevoked))(value)
    return does


def _processing(table: TomlTable) -> ProcessingSpec:
    processing = ProcessingSpec(
        table.take("p50", _time, 1, required=True),
        table.take("p99", _time, 1, required=True),
    )
    if processing.p99_us < processing.p50_us and table.has("p99"):
        table.wrong("p99", "p99: it is below p50")
    table.close()
    return processing


def _time(value: object) -> int:
    time_us = duration(value)
    if time_us <= 0:
        raise ReadError("a log-normal time is above 0")
    return time_us


def _slow_keys(table: TomlTable) -> SlowKeysSpec:
    slow_keys = SlowKeysSpec(
        per_record_us=table.take("per_record", duration, 0, required=True),
        keys=table.take("keys", filled_words, ()),
        share=table.take("share", number(0, 1), 0.0),
    )
    if table.has("keys") == table.has("share"):
        table.wrong("share", "slow_keys: say which `keys`, or which `share` of them")
    elif table.has("share") and slow_keys.share == 0:
        table.wrong("share", "share: no key is slow with a share of 0")
    table.close()
    return slow_keys


def _fail(table: TomlTable) -> FailSpec:
    fail = FailSpec(
        share=table.take("share", number(0, 1), 1.0, required=True),
        times=table.take("times", whole(1, MOST_RETRIES), None),
        crashes=table.take("crashes", flag, True),
    )
    table.close()
    return fail


def _retries(table: TomlTable) -> RetriesSpec:
    retries = RetriesSpec(
        times=table.take("times", whole(1, MOST_RETRIES), 1, required=True),
        backoff_us=table.take("backoff", duration, 0),
        multiplier=table.take("multiplier", number(1, 10), 1.0),
    )
    table.close()
    return retries


def _output(table: TomlTable) -> OutputSpec:
    output = OutputSpec(
        topic=table.take("topic", filled_text, "", required=True),
        share=table.take("share", number(0, 1), 1.0),
        records=table.take("records", whole(1, MOST_FAN_OUT), 1),
    )
    table.close()
    return output


def _commit(table: TomlTable, config: dict[str, Value]) -> CommitPolicy:
    """The commit policy; `enable.auto.commit` = false without one means that no member commits."""
    commit: CommitPolicy = table.take("commit", _policy, "auto")
    automatic = config.get("enable.auto.commit")
    if automatic is None or table.data.get("commit", commit) != commit:  # not given, or not readable
        return commit
    if not table.has("commit"):
        return "auto" if automatic else "never"
    if (commit == "auto") is not automatic:
        said = str(automatic).lower()
        table.wrong("commit", f'commit = "{commit}" and enable.auto.commit = {said} contradict each other')
    return commit


def _poison(table: TomlTable) -> PoisonSpec:
    poison = PoisonSpec(table.take("key", filled_text, "", required=True), table.take("crashes", flag, True))
    table.close()
    return poison
