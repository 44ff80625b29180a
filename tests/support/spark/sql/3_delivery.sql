-- What became of every acknowledged record, one by one, for each group that reads its topic.
-- A record is its producer, partition and serial number: offsets are used again after a truncation.

-- Every record of every batch that a leader appended, with the place it had.
CREATE TABLE record AS
SELECT
    run_id, partition, producer, first_serial + place AS serial, base_offset + place AS at_offset, seq, since, cut
FROM (SELECT *, unnest(range(count)) AS place FROM entry WHERE marker = '');

CREATE TABLE acknowledged AS
SELECT DISTINCT run_id, partition, producer, first_serial + place AS serial
FROM (SELECT *, unnest(range(records)) AS place FROM batch_acknowledged);

-- What no replica's log holds (any more): the last word on a record is that it was lost.
CREATE TABLE vanished AS
WITH said AS (
    SELECT run_id, partition, producer, first_serial, records, seq, true AS gone FROM records_lost
    UNION ALL
    SELECT run_id, partition, producer, first_serial, records, seq, false FROM records_survived
    UNION ALL
    SELECT run_id, partition, producer, first_serial, count, seq, false FROM records_appended WHERE marker = ''
)
SELECT run_id, partition, producer, serial
FROM (SELECT *, first_serial + unnest(range(records)) AS serial FROM said)
GROUP BY ALL
HAVING arg_max(gone, seq);

-- What applications finished although it had been truncated since they had fetched it.
CREATE TABLE truncated AS
SELECT run_id, "group", member, partition, at_us, first_offset + place AS at_offset, producer, first_serial + place AS serial
FROM (SELECT *, unnest(range(records)) AS place FROM truncated_records_processed);

-- What each group's applications finished: at an offset stood what had been appended there last, or what was truncated.
CREATE TABLE done AS
WITH one AS (
    SELECT run_id, "group", member, partition, seq, at_us, repeated, next_offset - first_offset AS records,
        unnest(range(first_offset, next_offset)) AS at_offset
    FROM records_processed
), known AS (
    SELECT one.*, coalesce(truncated.producer, record.producer) AS producer,
        coalesce(truncated.serial, record.serial) AS serial
    FROM one
    ASOF LEFT JOIN record
        ON record.run_id = one.run_id AND record.partition = one.partition AND record.at_offset = one.at_offset
        AND record.seq < one.seq
    LEFT JOIN truncated
        ON truncated.run_id = one.run_id AND truncated."group" = one."group" AND truncated.member = one.member
        AND truncated.partition = one.partition AND truncated.at_us = one.at_us
        AND truncated.at_offset = one.at_offset
)
SELECT
    run_id, "group", partition, seq, repeated, records, producer, serial,
    row_number() OVER (
        PARTITION BY run_id, "group", partition, producer, serial ORDER BY seq, at_offset
    ) = 1 AS fresh
FROM known
WHERE producer IS NOT NULL;

-- The same, each once. `copy`: written once more for an input whose record the group had finished: `repeated` counts
-- by inputs, and so names more records than were finished before under their own names.
CREATE TABLE finished AS
SELECT run_id, "group", partition, producer, serial, bool_or(copy) AS copy
FROM (
    SELECT *, repeated + count(*) FILTER (fresh) OVER (PARTITION BY run_id, "group", seq) > records AND fresh AS copy
    FROM done
)
WHERE fresh
GROUP BY ALL;

-- Where the log that counts ended after each change.
CREATE TABLE log_end AS
SELECT run_id, partition, seq, next_offset AS log_end FROM appended
UNION ALL
SELECT run_id, partition, seq, from_offset FROM cut;

-- Where a group read a partition for the first time, and when; what is cut off the log later lies no more before it.
-- A position that the log did not reach before the group had another one is none.
CREATE TABLE start AS
WITH position AS (
    SELECT run_id, "group", one.key AS partition, one.value AS "offset", seq,
        lead(seq) OVER (PARTITION BY run_id, "group", one.key ORDER BY seq) AS next_seq
    FROM (SELECT *, unnest(map_entries(positions)) AS one FROM positions_reset)
), known AS (
    SELECT position.*, coalesce(log_end, 0) >= "offset" AS reached
    FROM position
    ASOF LEFT JOIN log_end
        ON log_end.run_id = position.run_id AND log_end.partition = position.partition AND log_end.seq < position.seq
), begun AS (
    SELECT run_id, "group", partition, "offset", seq FROM known WHERE reached
    UNION ALL
    SELECT known.run_id, "group", known.partition, "offset", min(log_end.seq)
    FROM known
    JOIN log_end ON log_end.run_id = known.run_id AND log_end.partition = known.partition
        AND log_end.seq > known.seq AND log_end.seq < coalesce(next_seq, log_end.seq + 1) AND log_end >= "offset"
    WHERE NOT reached
    GROUP BY ALL
), first AS (
    SELECT run_id, "group", partition, arg_min("offset", seq) AS start, min(seq) AS seq FROM begun GROUP BY ALL
)
SELECT first.run_id, "group", first.partition, first.seq, start,
    least(start, coalesce(min(from_offset), start)) AS lowest
FROM first
LEFT JOIN cut ON cut.run_id = first.run_id AND cut.partition = first.partition AND cut.seq > first.seq
GROUP BY first.run_id, "group", first.partition, first.seq, start;

CREATE TABLE committed AS
SELECT run_id, "group", partition, arg_max(committed, seq) AS committed FROM commit GROUP BY ALL;

CREATE TABLE beginning_now AS
SELECT run_id, partition, arg_max(log_start, seq) AS log_start FROM beginning GROUP BY ALL;

-- Each record that a group may read, wherever it stood, and what the group had to do with that place.
CREATE TABLE chance AS
SELECT
    record.run_id, reads."group", record.partition, producer, serial, at_offset,
    record.cut IS NULL AND start.start IS NOT NULL
        AND at_offset >= greatest(lowest, coalesce(log_start, 0)) AND at_offset < coalesce(committed, -1) AS passed,
    start.start IS NOT NULL AND at_offset < start.start AND record.seq <= start.seq
        AND (record.cut IS NULL OR record.cut.seq > start.seq) AS before_start,
    record.cut IS NULL AND at_offset < coalesce(log_start, 0) AS deleted,
    start.start, start.lowest, record.seq, record.cut
FROM record
JOIN reads ON reads.run_id = record.run_id AND reads.partition = record.partition
LEFT JOIN start ON start.run_id = record.run_id AND start."group" = reads."group" AND start.partition = record.partition
LEFT JOIN committed ON committed.run_id = record.run_id AND committed."group" = reads."group"
    AND committed.partition = record.partition
LEFT JOIN beginning_now ON beginning_now.run_id = record.run_id AND beginning_now.partition = record.partition;

-- What a group's commit had passed when the record was deleted or cut off.
CREATE TABLE left_behind AS
WITH gone AS (
    SELECT run_id, "group", partition, producer, serial, at_offset, cut.seq AS gone_seq
    FROM chance WHERE cut IS NOT NULL AND at_offset >= lowest
    UNION ALL
    SELECT chance.run_id, "group", chance.partition, producer, serial, at_offset, min(beginning.seq)
    FROM chance
    JOIN beginning ON beginning.run_id = chance.run_id AND beginning.partition = chance.partition
        AND beginning.log_start > at_offset AND beginning.seq > chance.seq
    WHERE at_offset >= lowest AND (cut IS NULL OR cut.seq > beginning.seq)
    GROUP BY ALL
)
SELECT DISTINCT gone.run_id, gone."group", gone.partition, producer, serial
FROM gone
ASOF JOIN commit ON commit.run_id = gone.run_id AND commit."group" = gone."group"
    AND commit.partition = gone.partition AND commit.seq < gone_seq
WHERE committed > at_offset;

-- What compaction removed from the log that counts: from its leader's, or from that of a broker that led later. What
-- stands in a log again was never gone from the log of the broker that leads then.
CREATE TABLE removed AS
WITH run AS (
    SELECT run_id, partition, seq, broker, unnest(removed_from) AS low, unnest(removed_to) AS high FROM log_compacted
)
SELECT run.run_id, run.partition, run.broker, run.seq AS removed_seq, low, high,
    CASE WHEN leader.broker = run.broker THEN run.seq ELSE (
        SELECT min(later.seq) FROM leader AS later
        WHERE later.run_id = run.run_id AND later.partition = run.partition AND later.broker = run.broker
            AND later.seq > run.seq
    ) END AS seq
FROM run
ASOF JOIN leader ON leader.run_id = run.run_id AND leader.partition = run.partition AND leader.seq < run.seq;

CREATE TABLE removed_record AS
SELECT record.run_id, record.partition, producer, serial, at_offset, min(removed.seq) AS seq,
    arg_min(removed.broker, removed.seq) AS leader
FROM record
JOIN removed ON removed.run_id = record.run_id AND removed.partition = record.partition
    AND record.at_offset >= low AND record.at_offset < high
WHERE record.since < removed_seq AND record.seq <= removed.seq AND (record.cut IS NULL OR record.cut.seq > removed.seq)
    AND NOT EXISTS (
        SELECT 1 FROM log_truncated AS lost
        WHERE lost.run_id = removed.run_id AND lost.partition = removed.partition AND lost.broker = removed.broker
            AND lost.seq > removed_seq AND lost.seq < removed.seq AND lost."offset" <= record.at_offset
    )
GROUP BY ALL;

-- A marker aborts what is in the log then: not what compaction had removed.
CREATE TABLE aborted_record AS
SELECT DISTINCT run_id, partition, producer, serial
FROM (SELECT *, first_serial + unnest(range(count)) AS serial FROM aborted) AS ended
WHERE NOT EXISTS (
    SELECT 1 FROM removed_record
    WHERE removed_record.run_id = ended.run_id AND removed_record.partition = ended.partition
        AND removed_record.producer = ended.producer AND removed_record.serial = ended.serial
        AND removed_record.seq < ended.seq
);

-- What members finished, again too, but no aborted records of a group that reads committed data: a broken broker's.
CREATE TABLE processed AS
WITH handed_out AS (
    SELECT run_id, "group", count(*) AS records
    FROM finished
    JOIN group_declared USING (run_id, "group")
    JOIN aborted_record USING (run_id, partition, producer, serial)
    WHERE read_committed AND NOT copy
    GROUP BY ALL
)
SELECT run_id, "group", sum(next_offset - first_offset) - coalesce(any_value(handed_out.records), 0) AS records
FROM records_processed
LEFT JOIN handed_out USING (run_id, "group")
GROUP BY ALL;

-- Not what stands elsewhere in the log: a producer without idempotence may have written it twice.
CREATE TABLE compacted AS
SELECT run_id, partition, producer, serial
FROM removed_record
ANTI JOIN (
    SELECT * FROM record ANTI JOIN removed_record USING (run_id, partition, producer, serial, at_offset)
    WHERE cut IS NULL
) AS standing USING (run_id, partition, producer, serial)
GROUP BY ALL;

-- The gaps of a follower's log, for a group that reads from it: met on the way, or what the commit had passed before.
CREATE TABLE follower_gap AS
WITH run AS (
    SELECT run_id, partition, seq, broker, unnest(removed_from) AS low, unnest(removed_to) AS high FROM log_compacted
), chosen AS (
    SELECT run_id, "group", partition, broker, min(seq) AS seq FROM preferred_read_replica_changed
    WHERE broker >= 0 GROUP BY ALL
), last_leader AS (
    SELECT run_id, partition, arg_max(broker, seq) AS broker FROM leader GROUP BY ALL
)
SELECT chosen.run_id, chosen."group", chosen.partition, record.producer, record.serial,
    record.cut IS NULL AND last_leader.broker <> run.broker AND at_offset < coalesce(committed.committed, -1)
        AND NOT EXISTS (
            SELECT 1 FROM log_truncated AS lost
            WHERE lost.run_id = run.run_id AND lost.partition = run.partition AND lost.broker = run.broker
                AND lost.seq > run.seq AND lost."offset" <= at_offset
        ) AS met,
    chosen.seq < run.seq AND at_offset < coalesce((
        SELECT arg_max(commit.committed, commit.seq) FROM commit
        WHERE commit.run_id = chosen.run_id AND commit."group" = chosen."group"
            AND commit.partition = chosen.partition AND commit.seq < run.seq
    ), -1) AND run.broker <> (
        SELECT arg_max(leader.broker, leader.seq) FROM leader
        WHERE leader.run_id = run.run_id AND leader.partition = run.partition AND leader.seq < run.seq
    ) AS passed_before
FROM run
JOIN chosen ON chosen.run_id = run.run_id AND chosen.partition = run.partition AND chosen.broker = run.broker
JOIN start ON start.run_id = run.run_id AND start."group" = chosen."group" AND start.partition = run.partition
JOIN record ON record.run_id = run.run_id AND record.partition = run.partition
    AND at_offset >= low AND at_offset < high AND at_offset >= lowest AND record.since < run.seq
    AND (record.cut IS NULL OR record.cut.seq > run.seq)
JOIN last_leader ON last_leader.run_id = run.run_id AND last_leader.partition = run.partition
LEFT JOIN committed ON committed.run_id = run.run_id AND committed."group" = chosen."group"
    AND committed.partition = run.partition;

-- What compaction took from a leader's log when the group's commit had passed it. What the follower that the group reads
-- from had lacked before, the group never met.
CREATE TABLE left_to_compaction AS
WITH chosen AS (
    SELECT run_id, "group", partition, broker, min(seq) AS seq FROM preferred_read_replica_changed
    WHERE broker >= 0 GROUP BY ALL
), lacked AS (
    SELECT run_id, partition, broker, seq, unnest(removed_from) AS low, unnest(removed_to) AS high FROM log_compacted
)
SELECT DISTINCT removed_record.run_id, start."group", removed_record.partition, producer, serial
FROM removed_record
JOIN start ON start.run_id = removed_record.run_id AND start.partition = removed_record.partition
ASOF JOIN commit ON commit.run_id = removed_record.run_id AND commit."group" = start."group"
    AND commit.partition = removed_record.partition AND commit.seq < removed_record.seq
WHERE committed > at_offset AND at_offset >= lowest AND NOT EXISTS (
    SELECT 1 FROM chosen
    JOIN lacked ON lacked.run_id = chosen.run_id AND lacked.partition = chosen.partition
        AND lacked.broker = chosen.broker
    WHERE chosen.run_id = removed_record.run_id AND chosen."group" = start."group"
        AND chosen.partition = removed_record.partition AND chosen.broker <> removed_record.leader
        AND chosen.seq < removed_record.seq AND lacked.seq < removed_record.seq
        AND at_offset >= low AND at_offset < high
        AND NOT EXISTS (
            SELECT 1 FROM log_truncated AS lost
            WHERE lost.run_id = lacked.run_id AND lost.partition = lacked.partition AND lost.broker = lacked.broker
                AND lost.seq > lacked.seq AND lost.seq < removed_record.seq AND lost."offset" <= at_offset
        )
);

CREATE TABLE at_follower AS
SELECT run_id, "group", partition, producer, serial, bool_or(met) AS met, bool_or(passed_before) AS passed_before
FROM follower_gap GROUP BY ALL;

CREATE TABLE place AS
SELECT run_id, "group", partition, producer, serial,
    bool_or(passed) AS passed, bool_or(before_start) AS before_start, bool_or(deleted) AS deleted
FROM chance GROUP BY ALL;

-- One row for each acknowledged record and each group that reads its topic.
CREATE TABLE fate AS
SELECT
    run_id, reads."group", partition, producer, serial,
    CASE
        WHEN finished.serial IS NOT NULL THEN 'delivered'
        WHEN vanished.serial IS NOT NULL THEN 'lost'
        WHEN before_start THEN 'skipped'
        WHEN compacted.serial IS NOT NULL AND left_to_compaction.serial IS NOT NULL THEN 'lost'
        WHEN at_follower.passed_before THEN 'lost'
        WHEN compacted.serial IS NOT NULL OR at_follower.met THEN 'skipped'
        WHEN place.passed OR left_behind.serial IS NOT NULL THEN 'lost'
        WHEN deleted THEN 'deleted'
        ELSE 'unread'
    END AS fate,
    vanished.serial IS NOT NULL AS vanished
FROM acknowledged
JOIN reads USING (run_id, partition)
JOIN group_declared USING (run_id, "group")
LEFT JOIN aborted_record USING (run_id, partition, producer, serial)
LEFT JOIN vanished USING (run_id, partition, producer, serial)
LEFT JOIN finished USING (run_id, "group", partition, producer, serial)
LEFT JOIN left_behind USING (run_id, "group", partition, producer, serial)
LEFT JOIN compacted USING (run_id, partition, producer, serial)
LEFT JOIN left_to_compaction USING (run_id, "group", partition, producer, serial)
LEFT JOIN at_follower USING (run_id, "group", partition, producer, serial)
LEFT JOIN place USING (run_id, "group", partition, producer, serial)
WHERE NOT (read_committed AND aborted_record.serial IS NOT NULL) AND NOT coalesce(finished.copy, false);

CREATE TABLE delivery AS
WITH unacknowledged AS (
    SELECT run_id, "group", count(*) AS records
    FROM finished
    JOIN group_declared USING (run_id, "group")
    ANTI JOIN acknowledged USING (run_id, partition, producer, serial)
    LEFT JOIN aborted_record USING (run_id, partition, producer, serial)
    WHERE NOT copy AND NOT (read_committed AND aborted_record.serial IS NOT NULL)
    GROUP BY ALL
), again AS (
    SELECT run_id, "group", sum(repeated) AS duplicated FROM records_processed GROUP BY ALL
)
SELECT
    run_id, "group",
    count(fate) AS acknowledged,
    count(*) FILTER (fate = 'delivered') AS delivered,
    count(*) FILTER (fate = 'lost') AS lost,
    count(*) FILTER (fate IN ('skipped', 'deleted')) AS skipped,
    count(*) FILTER (fate = 'deleted') AS deleted,
    count(*) FILTER (fate = 'unread') AS unread,
    count(*) FILTER (fate = 'delivered' AND vanished) AS delivered_then_lost,
    coalesce(any_value(unacknowledged.records), 0) AS delivered_unacknowledged,
    coalesce(any_value(duplicated), 0) AS duplicated
FROM group_declared
LEFT JOIN fate USING (run_id, "group")
LEFT JOIN unacknowledged USING (run_id, "group")
LEFT JOIN again USING (run_id, "group")
GROUP BY ALL;
