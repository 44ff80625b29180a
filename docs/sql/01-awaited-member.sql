-- 1. Which member does the group wait for, how long, and which timer releases it?
--
-- A row for each join barrier that closed on members (classic protocol). A barrier that opened again counts from then.
--   waited_for       the member that the barrier waited for last: its JoinGroup came, or it was removed
--   released_by      `joined`, or the reason of its removal, such as `session expired`
--   waited_s         seconds from the opening of the barrier until it closed
--   limit_s          seconds after which the barrier would have closed anyway (rebalance timeout, or initial delay)
--   members          members of the new generation
--   initial          the group was Empty: the barrier stays open for group.initial.rebalance.delay.ms, whoever comes
WITH barrier AS (
    SELECT
        closed.run_id, closed."group", closed.seq, closed.at_us, closed.generation, cardinality(closed.members) AS members,
        opened.seq AS opened_seq, opened.at_us AS opened_us, opened.closes_at_us, opened.initial
    FROM join_barrier_completed AS closed
    ASOF JOIN rebalance_started AS opened
        ON opened.run_id = closed.run_id AND opened."group" = closed."group" AND opened.seq < closed.seq
    WHERE cardinality(closed.members) > 0
), arrival AS (
    SELECT run_id, "group", seq, member, 'joined' AS how FROM join_received
    UNION ALL
    SELECT run_id, "group", seq, member, reason FROM member_removed
)
SELECT
    barrier.run_id, barrier."group", barrier.generation,
    arg_max(arrival.member, arrival.seq) AS waited_for,
    arg_max(arrival.how, arrival.seq) AS released_by,
    (any_value(barrier.at_us) - any_value(opened_us)) / 1e6 AS waited_s,
    (any_value(closes_at_us) - any_value(opened_us)) / 1e6 AS limit_s,
    any_value(members) AS members,
    any_value(initial) AS initial
FROM barrier
JOIN arrival
    ON arrival.run_id = barrier.run_id AND arrival."group" = barrier."group"
    AND arrival.seq BETWEEN opened_seq AND barrier.seq
GROUP BY barrier.run_id, barrier."group", barrier.generation, barrier.seq
ORDER BY barrier.run_id, barrier.seq;
