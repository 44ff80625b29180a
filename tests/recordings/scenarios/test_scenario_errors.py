"""What is wrong with a scenario file: every kind of error, with its line, and all of them at once."""

import pytest

from cluster.config import UNBUILT
from recordings.scenarios.loader import ScenarioErrors, parse_scenario
from tests.support.minimal_scenario import MINIMAL

NEW = 'config = { "group.protocol" = "consumer" }\n'


def errors_of(text: str) -> list[str]:
    with pytest.raises(ScenarioErrors) as caught:
        parse_scenario(text, "f.toml")
    return str(caught.value).splitlines()


def test_all_errors_come_at_once_sorted_by_line_each_with_its_reason() -> None:
    text = """\
titel = "t"
until = "5x"
[cluster]
brokers = 2
[[topic]]
name = "orders"
replication = 3
[[group]]
name = "billing"
topics = ["oders"]
[[at]]
time = "60s"
do = "kil billing-1"
[[expect]]
that = "groups.biling.lag == 0"
by = "5s"
"""
    assert errors_of(text) == [
        "f.toml:1: title is missing",
        "f.toml:1: unknown key titel (did you mean title?)",
        "f.toml:2: until: '5x': unknown unit 'x' (us, ms, s, m, h)",
        "f.toml:7: replication: 3 replicas need as many brokers, there are 2",
        "f.toml:10: no topic is named oders (did you mean orders?)",
        "f.toml:13: do: `kil` is unexpected: kill NAME [for DURATION] (did you mean kill?)",
        "f.toml:15: that: no group is named biling in this scenario (did you mean groups.billing?)",
    ]


@pytest.mark.parametrize(
    ("addition", "line", "reason"),
    [
        ("[[topics]]", 12, "unknown key topics (did you mean topic?)"),
        ('[topic2]\nname = "x"', 12, "unknown key topic2 (did you mean topic?)"),
        ("[[topic]]", 12, "name is missing"),
        ('[[topic]]\nname = "a b"', 13, "name: 'a b' may contain only letters"),
        ('[[topic]]\nname = ""', 13, "name: it is empty"),
        ('[[topic]]\nname = "billing"', 9, "name: billing is already the name of a topic"),
        ('[[topic]]\nname = "billing-1"', 13, "name: billing-1 is already an instance of billing"),
        ('[[topic]]\nname = "broker-7"', 13, "name: broker-7 is a reserved word"),
        ('[[topic]]\nname = "x"\npartitions = 0', 14, "partitions: 0 is below 1"),
        ('[[topic]]\nname = "x"\npartitions = "3"', 14, "partitions: '3' is not a whole number"),
        ('[[topic]]\nname = "x"\npartitions = true', 14, "partitions: true is not a whole number"),
        ('[[topic]]\nname = "x"\nreplication = 4', 14, "replication: 4 replicas need as many brokers, there are 3"),
        ('[[topic]]\nname = "x"\nreplica_assignment = 3', 14, "3 is not a list with the brokers of each partition"),
        ('[[topic]]\nname = "x"\nreplica_assignment = []', 14, "write [[1, 2], [2, 3]]"),
        ('[[topic]]\nname = "x"\nreplica_assignment = [1, 2]', 14, "[1, 2] is not a list with the brokers of each"),
        ('[[topic]]\nname = "x"\nreplica_assignment = [["1"]]', 14, "replica_assignment: '1' is not a whole number"),
        ('[[topic]]\nname = "x"\nreplica_assignment = [[1], []]', 14, "partition 1 has no broker"),
        ('[[topic]]\nname = "x"\nreplica_assignment = [[1, 2, 1]]', 14, "partition 0 has broker 1 more than once"),
        (
            '[[topic]]\nname = "x"\nreplica_assignment = [[1, 2], [3]]',
            14,
            "all partitions have as many replicas: partition 1 has 1 and partition 0 has 2",
        ),
        (
            '[[topic]]\nname = "x"\nreplica_assignment = [[1], [7]]',
            14,
            "partition 1 has broker 7, and the cluster has no such broker (did you mean 3?)",
        ),
        (
            '[[topic]]\nname = "x"\nreplica_assignment = [[1], [2]]\npartitions = 3',
            15,
            "partitions: replica_assignment has 2, not 3 (did you mean 2?)",
        ),
        (
            '[[topic]]\nname = "x"\nreplica_assignment = [[1], [2]]\nreplication = 3',
            15,
            "replication: replica_assignment has 1, not 3 (did you mean 1?)",
        ),
        ('[[topic]]\nname = "x"\nreplica_asignment = [[1]]', 14, "(did you mean replica_assignment?)"),
        ('[[topic]]\nname = "x"\nconfig = { "retention.s" = 1 }', 14, "(did you mean retention.ms?)"),
        ('[[topic]]\nname = "x"\n[topic.config]\nretention.s = 1', 15, "(did you mean retention.ms?)"),
        ('[[topic]]\nname = "x"\nconfig = 3', 14, "config: 3 is not a table"),
        (
            '[[topic]]\nname = "x"\nconfig = { "flush.ms" = 1000 }',
            14,
            "not built yet: flush.ms other than Kafka's default",
        ),
        (
            '[[topic]]\nname = "x"\n[topic.config]\nmin.compaction.lag.ms = "2m"\nmax.compaction.lag.ms = "1m"',
            15,
            "min.compaction.lag.ms (120000) must be at most max.compaction.lag.ms (60000)",
        ),
        (
            '[[topic]]\nname = "x"\n[topic.config]\n"cleanup.policy" = ["compact", "compact"]',
            15,
            "cleanup.policy: values must not be duplicated, and compact is there twice",
        ),
        (
            '[[topic]]\nname = "x"\n[topic.config]\n"cleanup.policy" = "compact,"',
            15,
            "cleanup.policy: a value must not be empty",
        ),
        ("[cluster]\nbrokers = 0", 13, "brokers: 0 is below 1"),
        ("[cluster]\nstartup = true", 13, 'startup: true is not a duration: write it like "30s"'),
        ("[cluster]\nstartup = [6]", 13, 'startup: [6] is not a duration: write it like "30s"'),
        ("[network]\nlatency = { ms = 1 }", 13, "latency: {'ms': 1} is not a duration"),
        ("[cluster]\nbrokers = []", 13, "a cluster has at least one broker"),
        ("[cluster]\nbrokers = [{ id = 1 },\n{ id = 1 }]", 14, "broker 1 is listed twice"),
        ('[cluster]\nbrokers = [{ id = 1, rak = "a" }]', 13, "unknown key rak (did you mean rack?)"),
        ("[network]\nbetween_racks = 5", 13, "between_racks: 5 needs a unit and quotation marks"),
        ('[network]\nbetween_rack = "5ms"', 13, "unknown key between_rack (did you mean between_racks?)"),
        (
            "[cluster.config]\n'replica.selector.class' = 'RackAware'",
            13,
            "not 'RackAware' (did you mean RackAwareReplicaSelector?)",
        ),
        ("cluster = 3", 12, "cluster: 3 is not a table"),
        ("[cluster.config]\n'broker.heartbeat.interval.ms' = 9000", 13, "must be below broker.session.timeout.ms"),
        ("[cluster]\nstartup = 6", 13, "startup: 6 needs a unit and quotation marks"),
        ('[cluster]\nstartup = "-6s"', 13, "startup: "),
        ('[cluster]\nstart_up = "6s"', 13, "unknown key start_up (did you mean startup?)"),
        ('[cluster]\nstart_jitter = "6s"', 13, "start_jitter belongs at the top of the file"),
        ("[cluster]\nseed = 3", 13, "seed belongs at the top of the file"),
        ("[network]\nlatency = 1", 13, "latency: 1 needs a unit and quotation marks"),
        ("[network]\njitter = 1.5", 13, "jitter: 1.5 is above 1"),
        ('[network]\nlinks = [{ between = ["broker-1"], latency = "1ms" }]', 13, "a link has two ends, not 1"),
        (
            '[network]\nlinks = [\n{ between = ["broker-1",\n"brker-2"], latency = "1ms" }]',
            15,
            "no broker, member or producer is named brker-2 (did you mean broker-2?)",
        ),
    ],
)
def test_errors_of_the_cluster_and_its_topics(addition: str, line: int, reason: str) -> None:
    the_topics_error = addition.startswith("cluster")
    text = f"{addition}\n{MINIMAL}" if the_topics_error else f"{MINIMAL}{addition}\n"
    assert_error(errors_of(text), 1 if the_topics_error else line, reason)


def assert_error(errors: list[str], line: int, reason: str) -> None:
    assert len(errors) == 1, errors
    assert errors[0].startswith(f"f.toml:{line}: ")
    assert reason in errors[0]


@pytest.mark.parametrize(
    ("addition", "line", "reason"),
    [
        ('topics = ["oders"]', 14, "no topic is named oders (did you mean orders?)"),
        ("topics = []", 14, "topics: the list is empty"),
        ("topics = 'orders'", 14, "topics: 'orders' is not a list of names"),
        ('topics = ["orders", "orders"]', 14, "topics: orders is listed twice"),
        ("", 12, "topics is missing"),
        ('topics = ["orders"]\nrate = "200"', 15, "rate: '200' is not a rate: write it like 200/s, 3/m"),
        ('topics = ["orders"]\nrate = ["200/s"]', 15, "rate: ['200/s'] is not a rate: write it like \"200/s\""),
        ('topics = ["orders"]\nsize = false', 15, 'size: false is not a size: write it like "1KiB"'),
        ('topics = ["orders"]\nrate = 200', 15, 'needs a unit and quotation marks: "200/s"'),
        ('topics = ["orders"]\nrate = "0/s"', 15, "rate: a rate is above 0"),
        ('topics = ["orders"]\nsize = "1KB"', 15, "size: '1KB': unknown unit 'KB'"),
        ('topics = ["orders"]\narrivals = "poison"', 15, "is none of steady, poisson (did you mean poisson?)"),
        ('topics = ["orders"]\narrivals = [["1s"]]', 15, "a step of a profile is written"),
        ('topics = ["orders"]\narrivals = [["1s", "1/s"], ["1s", "2/s"]]', 15, "does not come after the one before"),
        ('topics = ["orders"]\nkeys = { distinct = 4 }', 15, "kind is missing"),
        (
            'topics = ["orders"]\nkeys = { kind = "zip" }',
            15,
            "is none of none, uniform, zipf, hot (did you mean zipf?)",
        ),
        ('topics = ["orders"]\nkeys = { kind = "hot", share = 2 }', 15, "share: 2 is above 1"),
        ('topics = ["orders"]\ntombstones = 1.5', 15, "tombstones: 1.5 is above 1"),
        ('topics = ["orders"]\ntombstone = 0.5', 15, "unknown key tombstone (did you mean tombstones?)"),
        ('topics = ["orders"]\ntombstones = 0.5', 15, "records without a key remove none; give the producer `keys`"),
        ('topics = ["orders"]\nconfig = { "linger.ms" = "5" }\nsize = -1', 16, "size: -1 is below 0"),
        ('topics = ["orders"]\nconfig = { "linger.ms" = "5x" }', 15, "linger.ms is a whole number of ms, not '5x'"),
        ('topics = ["orders"]\nconfig = { "session.timeout.ms" = 5 }', 15, "is a consumer key, not a producer key"),
        ('topics = ["orders"]\nconfig = { "delivery.timeout.ms" = 5 }', 15, "must be at least linger.ms"),
        (
            'topics = ["orders"]\nconfig = { acks = 1, "enable.idempotence" = true }',
            15,
            "enable.idempotence needs acks=all",
        ),
        ('topics = ["orders"]\nconfig = { "partitioner.class" = "x" }', 15, "not built yet: a partitioner"),
        (
            'topics = ["orders"]\nconfig = { partitioner = "consistent-random" }',
            15,
            "is one of consistent_random, murmur2_random, not 'consistent-random' (did you mean consistent_random?)",
        ),
        (
            'topics = ["orders"]\nconfig = { partitioner = "murmur2_random", "partitioner.class" = "roundrobin" }',
            15,
            "partitioner.class is a key of Java's clients and partitioner one of librdkafka's",
        ),
    ],
)
def test_errors_of_producers(addition: str, line: int, reason: str) -> None:
    assert_error(errors_of(f'{MINIMAL}[[producer]]\nname = "refunds"\n{addition}\n'), line, reason)


def test_transactions_need_idempotence() -> None:
    for config in ('"enable.idempotence" = false', '"acks" = 1', '"retries" = 0'):
        text = f'topics = ["orders"]\ntransactions = {{ id = "x" }}\nconfig = {{ {config} }}\n'
        errors = errors_of(f'{MINIMAL}[[producer]]\nname = "refunds"\n{text}')
        assert errors == ["f.toml:15: transactions need enable.idempotence (and so acks=all, and retries above 0)"]


@pytest.mark.parametrize(
    ("addition", "line", "reason"),
    [
        ("", 12, "topics (or subscriptions) is missing"),
        ('topics = ["order"]', 14, "no topic is named order (did you mean orders?)"),
        ('topics = ["orders"]\nmembers = -1', 15, "members: -1 is below 0"),
        ('topics = ["orders"]\nautoscaler = { max = 4 }', 15, "lag_per_member is missing"),
        (
            'assign = { "audit-1" = ["orders-0"] }\nautoscaler = { lag_per_member = 9, max = 4 }',
            14,
            "an autoscaler starts members that have no partitions",
        ),
        (
            'topics = ["orders"]\nautoscaler = { lag_per_member = 9, max = 99999 }',
            12,
            "members: 100,001 are too many",
        ),
        ('topics = ["orders"]\nautoscaler = { lag_per_member = 0, max = 4 }', 15, "lag_per_member: 0 is below 1"),
        (
            'topics = ["orders"]\nautoscaler = { lag_per_member = 9, min = 5, max = 4 }',
            15,
            "min: 5 is above max, 4",
        ),
        (
            'topics = ["orders"]\nautoscaler = { lag_per_member = 9, max = 4, every = "0s" }',
            15,
            "every: it is above 0",
        ),
        (
            'topics = ["orders"]\nautoscaler = { lag_per_member = 9, max = 4, every = "1us" }',
            15,
            "every: an autoscaler looks at the lag at most ten times a second (did you mean 15s?)",
        ),
        (
            'topics = ["orders"]\nautoscaler = { lag_per_member = 9, max = 4, stabilisation = "5m" }',
            15,
            "unknown key stabilisation (did you mean stabilization?)",
        ),
        ('topics = ["orders"]\nstartup = 35', 15, "startup: 35 needs a unit and quotation marks"),
        ('topics = ["orders"]\nstart_up = "35s"', 15, "unknown key start_up (did you mean startup?)"),
        ('topics = ["orders"]\nready = "join"', 15, "ready: 'join' is none of started, joined (did you mean joined?)"),
        ('topics = ["orders"]\nmembres = 1', 15, "unknown key membres (did you mean members?)"),
        ('topics = ["orders"]\nstatic = "yes"', 15, "static: 'yes' is not true or false"),
        (
            'topics = ["orders"]\nstatic = true\nconfig = { "group.instance.id" = "x" }',
            15,
            "static: group.instance.id in config says another id than the member's name",
        ),
        ('topics = ["orders"]\nassignors = ["stiky"]', 15, "(did you mean sticky?)"),
        (
            'topics = ["orders"]\nassignors = ["range",\n"recordings.library.your_assignors.Mine"]',
            16,
            "your_assignors has no class Mine",
        ),
        (
            'topics = ["orders"]\nassignors = ["range"]\nconfig = { "partition.assignment.strategy" = "range,sticky" }',
            15,
            "assignors and partition.assignment.strategy contradict each other",
        ),
        ('subscriptions = { "audit-2" = ["orders"] }\ntopics = ["orders"]', 14, "subscriptions: audit has no member"),
        ('subscriptions = { "audit-1" = ["orders"] }\nmembers = 2', 14, "subscriptions: audit-2 has none"),
        ('topics = ["orders"]\nconfig = { "heartbeat.interval.ms" = 50000 }', 15, "must be below session.timeout.ms"),
        ('topics = ["orders"]\nconfig = { "group.remote.assignor" = "range" }', 15, "when group.protocol=CLASSIC"),
        ('topic_regex = "o.*"', 14, "Subscribe to RE2/J pattern is not supported when using the CLASSIC protocol"),
        (
            NEW + 'topic_regex = "*-events"',
            15,
            "RE2/J: missing argument to repetition operator (did you mean .*-events?)",
        ),
        (NEW + 'topic_regex = "(?!tmp).*"', 15, "invalid or unsupported Perl syntax (did you mean orders?)"),
        (NEW + 'topic_regex = "(orders|pay"', 15, "RE2/J: missing closing ) (did you mean (orders|pay)?)"),
        (NEW + 'topic_regex = "(a{900}){900}"', 15, "Flightdeck does not: it follows at most 5,000 states"),
        (
            'topics = ["late"]\n[[topic]]\nname = "late"\ncreated = "20s"',
            14,
            'late is created at 20s: what names it starts then at the earliest (did you mean start = "20s"?)',
        ),
        (
            'topics = ["orders"]\nconfig = { "auto.offset.reset" = "by_duration:1h" }',
            15,
            "'1h' is not a duration: write it like PT1H",
        ),
        ('topics = ["orders"]\napplication = { commit = "sync" }', 15, "commit: 'sync' is none of auto, "),
        ('topics = ["orders"]\napplication = { writes = "orders" }', 15, "writes: audit reads orders itself"),
        ('assign.audit-1 = ["orders-0"]\napplication = { writes = "orders" }', 15, "writes: audit reads orders itself"),
        ('topics = ["orders"]\napplication = { poison = { key = "x" } }', 15, "poison: no record has the key x"),
        (
            'topics = ["orders"]\napplication = { poison = { key = "7" } }',
            15,
            "poison: no record has the key 7: no producer has `keys`",
        ),
        ('topics = ["orders"]\napplication = { per_recrd = "1ms" }', 15, "(did you mean per_record?)"),
        (
            'topics = ["orders"]\nconfig = { "enable.auto.commit" = false }\n[group.application]\ncommit = "auto"',
            17,
            'commit = "auto" and enable.auto.commit = false contradict each other',
        ),
        (
            'topics = ["orders"]\nconfig = { "enable.auto.commit" = true }\n[group.application]\ncommit = "never"',
            17,
            'commit = "never" and enable.auto.commit = true contradict each other',
        ),
    ],
)
def test_errors_of_groups(addition: str, line: int, reason: str) -> None:
    assert_error(errors_of(f'{MINIMAL}[[group]]\nname = "audit"\n{addition}\n'), line, reason)


@pytest.mark.parametrize(
    ("addition", "line", "reason"),
    [
        ('[[at]]\ndo = "heal"', 12, "time is missing"),
        ('[[at]]\ntime = "1s"', 12, "do is missing"),
        ('[[at]]\ntime = "1"\ndo = "heal"', 13, "time: '1' has no unit"),
        ('[[at]]\ntime = "6m"\ndo = "heal"', 13, "time: it is after the end of the flight"),
        ('[[at]]\ntime = "1s"\ndo = "kill billing-3"', 14, "is named billing-3 (did you mean billing-1?)"),
        (
            '[[at]]\ntime = "1s"\ndo = "set billing session.timout.ms 9000"',
            14,
            "do: unknown consumer configuration key session.timout.ms (did you mean session.timeout.ms?)",
        ),
        ('[[at]]\ntime = "1s"\ndo = "set cluster log.roll.hours 3"', 14, "is only read when the cluster is built"),
        ('[[at]]\ntime = "1s"\ndo = 3', 14, "do: 3 is not text"),
        ('[[at]]\ntime = "1s"\ndo = "rollout deploymnt billing"', 14, "(did you mean deployment?)"),
        ('[[at]]\ntime = "1s"\ndo = "rollout deployment billing max surg 3"', 14, "(did you mean surge?)"),
        (
            '[[at]]\ntime = "1s"\ndo = "rollout deployment billing max surge a"',
            14,
            "'a' is neither a number of members nor a percentage such as 25%",
        ),
        (
            '[[at]]\ntime = "1s"\ndo = "rollout deployment billing max unavailable 0 max surge 0%"',
            14,
            "max unavailable may not be 0 when max surge is 0",
        ),
        (
            '[[at]]\ntime = "1s"\ndo = "rollout statefulset billing max surge 1"',
            14,
            "expected `unavailable` here, not `surge`: rollout statefulset GROUP [max unavailable N|P%]",
        ),
        ('[[at]]\ntime = "1s"\ndo = "rolling restart brokers wait for isrs"', 14, "(did you mean isr?)"),
        ('[[group]]\nname = "brokers"\ntopics = ["orders"]', 13, "name: brokers is a reserved word"),
        ('[[at]]\ntime = "1s"\ndo = "heal"\nafter_event = 0', 15, "after_event: 0"),
        ('[[at]]\ntime = "1s"\ndo = "heal"\nafterevent = 5', 15, "(did you mean after_event?)"),
        ("[[expect]]\nalways = true", 12, "an expectation has either `that` or `event`"),
        ('[[expect]]\nthat = "true"\nevent = "group_stabilized"\nat = "1s"', 14, "has either `that` or `event`"),
        ('[[expect]]\nthat = "true"', 13, "has one of `by`, `at` and `always = true`"),
        ('[[expect]]\nthat = "true"\nby = "1s"\nat = "2s"', 15, "has one of `by`, `at` and `always = true`"),
        ('[[expect]]\nthat = "true"\nalways = false', 14, "has one of `by`, `at` and `always = true`"),
        (
            '[[expect]]\nthat = "true"\nat = "1s"\nfrom = "1s"',
            15,
            "from cannot be combined with `at`, only with `by`, `always",
        ),
        (
            '[[expect]]\nthat = "true"\nat = "1s"\ncount = 1',
            15,
            "count cannot be combined with `that`, only with an `event`",
        ),
        ('[[expect]]\nthat = "true"\nalways = true\nfrom = "2s"\nto = "1s"', 16, "to: it is before `from`"),
        ('[[expect]]\nthat = "true"\nat = "6m"', 14, "at: it is after the end of the flight"),
        ('[[expect]]\nevent = "group_stabilised"', 13, "(did you mean group_stabilized?)"),
        ('[[expect]]\nevent = "group_stabilized"\nat = "1s"', 14, "at cannot be combined with an `event`"),
        ('[[expect]]\nevent = "group_stabilized"\nwhere = { grup = "x" }', 14, "has no grup (did you mean group?)"),
        ('[[expect]]\nevent = "group_stabilized"\nwhere = { group = ["x"] }', 14, "is not a single value"),
        (
            '[[expect]]\nthat = "groups.billing.lag = 0"\nat = "1s"',
            13,
            "column 20: '=' is unexpected here",
        ),
        ('[[expect]]\nthat = "groups.billing.lag =="\nat = "1s"', 13, "the expression ends too early"),
        ('[[expect]]\nthat = "groups.billing.lagg == 0"\nat = "1s"', 13, "(did you mean groups.billing.lag?)"),
        ('[[expect]]\nthat = "group.billing.lag == 0"\nat = "1s"', 13, "has no group (did you mean groups?)"),
        ('[[expect]]\nthat = "groups.billing.lag"\nat = "1s"', 13, "not a condition: it is a whole number"),
        ('[[expect]]\nthat = "groups.billing.lag + 0.5 > 1.0"\nat = "1s"', 13, "incompatible types"),
        ('[[expect]]\nthat = "siez(groups) == 1"\nat = "1s"', 13, "there is no function siez (did you mean size?)"),
        ('[[expect]]\nthat = "members.billing-1.alive"\nat = "1s"', 13, '(did you mean members["billing-1"]?)'),
        (
            '[[expect]]\nthat = "brokers[\'broker-1\'].up"\nat = "1s"',
            13,
            'named broker-1 in this scenario; a broker\'s name here is its number (did you mean brokers["1"]?)',
        ),
        ('[[expect]]\nthat = "brokers[\'4\'].up"\nat = "1s"', 13, "no broker is named 4 in this scenario"),
    ],
)
def test_errors_of_steps_and_expectations(addition: str, line: int, reason: str) -> None:
    assert_error(errors_of(f"{MINIMAL}{addition}\n"), line, reason)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a = ", "f.toml:1: not TOML: Invalid value (the file ends too early)"),
        ('title = "t"\n[x\n', "f.toml:2: not TOML: Expected ']' at the end of a table declaration (column 3)"),
        ('title = "a"\ntitle = "b"\n', "f.toml:2: not TOML: Cannot overwrite a value (column 12)"),
    ],
)
def test_what_is_not_toml_is_an_error_with_its_line(text: str, error: str) -> None:
    assert errors_of(text) == [error]


def test_a_step_that_is_not_built_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UNBUILT, "command nemesis", "nemesis")
    errors = errors_of(f'{MINIMAL}[[at]]\ntime = "1s"\ndo = "nemesis on"\n')
    assert_error(errors, 14, "do: not built yet: nemesis")


def test_a_set_is_read_with_the_group_protocol_of_earlier_steps() -> None:
    deployed = f"{MINIMAL}{NEW}"
    session = '[[at]]\ntime = "3s"\ndo = "set billing session.timeout.ms 9000"\n'
    classic = '[[at]]\ntime = "2s"\ndo = "set billing group.protocol classic"\n'
    assert "session.timeout.ms cannot be set when group.protocol=CONSUMER" in errors_of(deployed + session)[0]
    parse_scenario(deployed + session + classic, "f.toml")


def test_every_unbuilt_thing_has_words() -> None:
    assert all(words for words in UNBUILT.values())


def test_every_wrong_step_of_a_profile_is_named() -> None:
    steps = '[["0s", "10/s"], ["0s", "5/s"], ["10s", 5], ["x"]]'
    (error,) = errors_of(MINIMAL.replace('topics = ["orders"]\n', f'topics = ["orders"]\narrivals = {steps}\n', 1))
    assert error == (
        "f.toml:8: arrivals: the step at 0s does not come after the one before it; 5 needs a unit and quotation marks:"
        ' "200/s"; a step of a profile is written ["30s", "200/s"], not [\'x\']'
    )


def test_a_field_of_an_event_is_compared_with_its_own_type_only() -> None:
    text = MINIMAL + '[[expect]]\nevent = "member_removed"\nwhere = { group = 5, leader = "billing-1" }\n'
    assert errors_of(text) == ["f.toml:14: where: group is text, not 5"]


def test_what_could_not_be_read_brings_no_second_complaint() -> None:
    lines = 'commit = "after-each"\npoison = { ky = "4" }\n'
    text = f'{MINIMAL}config = {{ "enable.auto.commit" = false }}\n[group.application]\n{lines}'
    assert [error.partition(" is none of ")[0] for error in errors_of(text)] == [
        "f.toml:14: commit: 'after-each'",
        "f.toml:15: key is missing",
        "f.toml:15: unknown key ky (did you mean key?)",
    ]


@pytest.mark.parametrize(
    ("addition", "line", "reason"),
    [
        ('[group.member."billing-3"]', 12, "member: billing has no member billing-3 (did you mean billing-1?)"),
        ('[group.member."billing-1"]\nper_record = 3', 13, 'per_record: 3 needs a unit and quotation marks: "30s"'),
        ('[group.member."billing-1"]\nperrecord = "3ms"', 13, "unknown key perrecord (did you mean per_record?)"),
        ('[group.member."billing-1"]\nassignors = ["rnge"]', 13, "an assignor is one of range, "),
        ('[group.member."billing-1".config]\nsession.timout.ms = 1', 13, "(did you mean session.timeout.ms?)"),
        ('[group.member."billing-1".config]\nsession.timeout.ms = 1000', 13, "must be below session.timeout.ms"),
        ('[group.member."billing-1".config]\nenable.auto.commit = false', 12, "the same for all members of a group"),
        ('[group.member."billing-1".config]\nfetch.min.bytes = 9', 13, "not built yet: fetch.min.bytes"),
        ("[group.member]\nbilling-1 = 3", 13, "billing-1: 3 is not a table"),
        ('static = true\n[group.member."billing-1".config]\ngroup.instance.id = "a"', 14, "static = true gives"),
    ],
)
def test_errors_of_a_members_own_settings(addition: str, line: int, reason: str) -> None:
    assert_error(errors_of(f"{MINIMAL}{addition}\n"), line, reason)


@pytest.mark.parametrize(
    ("addition", "line", "reason"),
    [
        ('assign = { "billing-3" = ["orders-0"] }', 12, "assign: billing has no member billing-3 (did you mean"),
        ('assign = { "billing-1" = ["orders-9"] }', 12, "assign: no partition is named orders-9 (did you mean orders-"),
        (
            'assign = { "billing-1" = ["order-0"] }',
            12,
            "assign: no partition is named order-0 (did you mean orders-0?)",
        ),
        ('assign = { "billing-1" = [] }', 12, "billing-1: the list is empty"),
        ('assign = { "billing-1" = "orders-0" }', 12, "billing-1: 'orders-0' is not a list of names"),
        ('assign = ["orders-0"]', 12, "assign: ['orders-0'] is not a table"),
        (
            'subscriptions = { "billing-1" = ["orders"] }\nassign = { "billing-1" = ["orders-0"] }',
            13,
            "assign: billing-1 has a subscription, and a consumer calls subscribe() or assign()",
        ),
    ],
)
def test_errors_of_assign(addition: str, line: int, reason: str) -> None:
    assert_error(errors_of(f"{MINIMAL}{addition}\n"), line, reason)


def test_members_of_a_group_without_topics_are_all_assigned() -> None:
    text = MINIMAL.replace('topics = ["orders"]\nmembers = 2', 'members = 2\nassign = { "billing-2" = ["orders-0"] }')
    assert errors_of(text) == ["f.toml:11: assign: billing-1 has no partitions, and the group has no topics"]
    scenario = parse_scenario(text.replace("members = 2\n", "").replace("billing-2", "billing-1"), "f.toml")
    assert scenario.spec.groups[0].members == 1


@pytest.mark.parametrize(
    ("addition", "reason"),
    [
        ("worker_threads = 0", "worker_threads: 0 is below 1"),
        ("worker_threads = 1001", "worker_threads: 1001 is above 1000"),
        ("worker_thread = 2", "unknown key worker_thread (did you mean worker_threads?)"),
        ("queue = 10", "queue needs worker_threads"),
        ("worker_threads = 2\nqueue = 0", "queue: 0 is below 1"),
        ('worker_threads = 2\ncommit = "before-processing"', "(did you mean after-each-poll?)"),
        ('worker_threads = 2\ncommit = "transaction"', "an application that writes does so in the thread that polls"),
        ('worker_threads = 2\nprocessing = { p50 = "1ms", p99 = "9ms" }', "workers take `per_record` for each record"),
        ('worker_threads = 2\npoison = { key = "1" }', "a record that fails is met in the thread that polls"),
    ],
)
def test_errors_of_worker_threads(addition: str, reason: str) -> None:
    text = MINIMAL.replace('topics = ["orders"]\n', 'topics = ["orders"]\nkeys = { kind = "uniform" }\n', 1)
    assert any(reason in each for each in errors_of(f"{text}[group.application]\n{addition}\n"))


@pytest.mark.parametrize(
    ("addition", "line", "reason"),
    [
        ('application.on_revoked = "comit"', 12, "'comit' is none of nothing, commit (did you mean commit?)"),
        ('application.revoke_takes = "2"', 12, "revoke_takes"),
        ('application = { on_revoke = "commit" }', 12, "unknown key on_revoke (did you mean on_revoked?)"),
        ('application = { commit = "never", on_revoked = "commit" }', 12, 'with commit = "never" commitSync'),
        ('application = { commit = "transaction", on_revoked = "commit" }', 12, "(did you mean nothing?)"),
        ('member."billing-1" = { on_revoked = 1 }', 12, "on_revoked"),
        ('application.commit = "never"\nmember."billing-1" = { on_revoked = "commit" }', 13, "(did you mean nothing?)"),
        ('member."billing-1" = { revoke_takes = "-1s" }', 12, "revoke_takes"),
    ],
)
def test_errors_of_rebalance_listeners(addition: str, line: int, reason: str) -> None:
    (error,) = errors_of(f"{MINIMAL}{addition}\n")
    assert_error([error], line, reason)


def test_a_listener_of_consumers_that_call_assign_is_never_called() -> None:
    text = MINIMAL.replace('topics = ["orders"]\nmembers = 2', 'assign = { "billing-1" = ["orders-0"] }')
    errors = errors_of(text + 'application.on_revoked = "commit"\n')
    assert errors == [
        "f.toml:11: on_revoked: members of billing call assign(): nothing is revoked from them (did you mean nothing?)"
    ]
