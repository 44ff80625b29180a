-- 4. Which records were processed twice?
--
-- A row for each partition in which a group finished records once more, with the members that did.
--   finished       records that applications finished, each time counted
--   again          of those: records that the group had finished before
--   by_members     the members that finished records again
--   at_s           when it happened for the first time (virtual seconds)
SELECT
    run_id, "group", partition,
    sum(next_offset - first_offset) AS finished,
    sum(repeated) AS again,
    list_sort(list(DISTINCT member) FILTER (repeated > 0)) AS by_members,
    min(at_us) FILTER (repeated > 0) / 1e6 AS at_s
FROM records_processed
GROUP BY ALL
HAVING again > 0
ORDER BY run_id, again DESC, "group", partition;
