-- The time in which no consumer of a group held a partition, from the first one that did.

CREATE TABLE hold AS
SELECT run_id, "group", member, unnest(partitions) AS partition, seq, at_us, 1 AS holds FROM partitions_assigned
UNION ALL
SELECT run_id, "group", member, unnest(partitions), seq, at_us, 0 FROM partitions_revoked;

INSERT INTO hold
SELECT DISTINCT gone.run_id, gone."group", gone.member, hold.partition, gone.seq, gone.at_us, 0
FROM (
    SELECT run_id, "group", member, seq, at_us FROM member_stopped
    UNION ALL
    SELECT run_id, "group", member, seq, at_us FROM member_state_changed WHERE state = 'Fenced'
) AS gone
JOIN hold USING (run_id, "group", member);

CREATE TABLE unowned AS
WITH change AS (
    SELECT *, holds - coalesce(lag(holds) OVER (PARTITION BY run_id, "group", partition, member ORDER BY seq), 0) AS one
    FROM hold
), held AS (
    SELECT run_id, "group", partition, at_us,
        sum(one) OVER of_partition AS holders, sum(holds) OVER of_partition AS ever,
        lead(at_us) OVER of_partition AS next_us
    FROM change
    WINDOW of_partition AS (PARTITION BY run_id, "group", partition ORDER BY seq)
)
SELECT run_id, "group", sum(coalesce(next_us, virtual_us) - at_us) AS us
FROM held JOIN flights USING (run_id)
WHERE holders = 0 AND ever > 0
GROUP BY ALL;
