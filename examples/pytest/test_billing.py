"""Two tests of a consumer group, without a cluster: `pytest examples/pytest`."""

BILLING = """
title = "Orders are billed"
seed = 4
until = "60s"
[[topic]]
name = "orders"
partitions = 4
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "40/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
config = { "session.timeout.ms" = 10000 }
[group.application]
per_record = "2ms"
commit = "after-each-poll"
"""


def test_a_killed_member_loses_nothing(flight):
    billing = flight(BILLING)
    billing.wait_for("groups.billing.state == 'Stable' && groups.billing.members == 2", within="20s")
    billing.do("kill billing-1")
    billing.wait_for("groups.billing.members == 1", within="15s")
    billing.expect_event("member_removed", member="billing-1", reason="session expired", count=1)
    billing.fly_to_end().expect("delivery.lost == 0 && groups.billing.lag < 40")
    assert billing.delivery("billing")["duplicated"] <= 20


def test_the_first_ten_seconds_are_the_flight_that_we_know(flight):
    flight(BILLING).fly_to("10s").expect_golden("billing")
