-- 9. Which process fences which, with one group.instance.id?
--
-- A row for each time that a member was fenced because another process joined with its group.instance.id.
--   at_s           when the fenced member learned of it (virtual seconds)
--   fenced         the member that stops
--   replaced_by    the member that has the instance id since; NULL: no event of the coordinator names it
SELECT
    fenced.run_id, fenced."group", fenced.at_us / 1e6 AS at_s, fenced.instance_id, fenced.member AS fenced,
    (
        SELECT arg_max(replaced.member, replaced.seq) FROM static_member_replaced AS replaced
        WHERE replaced.run_id = fenced.run_id AND replaced."group" = fenced."group"
            AND replaced.old_member_id = fenced.member_id AND replaced.seq < fenced.seq
    ) AS replaced_by
FROM consumer_fenced AS fenced
ORDER BY fenced.run_id, fenced.seq;
