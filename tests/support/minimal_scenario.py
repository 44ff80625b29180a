"""The smallest scenario that has one of each: a topic, a producer, a group of two."""

DECLARED = """\
[[topic]]
name = "orders"
partitions = 4
[[producer]]
name = "checkout"
topics = ["orders"]
[[group]]
name = "billing"
topics = ["orders"]
members = 2
"""
"""Ends within the group, so that more of its keys may follow."""

MINIMAL = f'title = "t"\n{DECLARED}'

SMALL = f"""
title = "Small"
until = "8s"
{DECLARED}[[expect]]
that = "groups.billing.members == 2"
by = "5s"
"""
"""A flight of 8 s with an expectation that holds."""

TWO_MEMBERS = """
title = "Two members"
until = "20s"
seed = 3
[[topic]]
name = "orders"
partitions = 4
[[producer]]
name = "shop"
topics = ["orders"]
rate = "20/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
[[at]]
time = "12s"
do = "stall billing-1 for 2s"
"""
"""A flight of 20 s in which a member stalls at 12 s."""
