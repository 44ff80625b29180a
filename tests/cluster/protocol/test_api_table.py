"""The API table: it is whole, it agrees with the messages, and every API that a process sends has a handler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import pytest

from cluster.broker.broker_config import BrokerConfig
from cluster.broker.group_coordinator_service import GroupCoordinatorService
from cluster.broker.request_handlers import BrokerRequests
from cluster.broker.transaction_coordinator_service import TransactionCoordinatorService
from cluster.broker.transactional_requests import TransactionalRequests
from cluster.commands import API_NAMES
from cluster.config import resolve
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.api import Api, GroupRequest, Request, SentBy, ServedBy, TransactionalIdRequest
from cluster.protocol.api_table import API_OF_REQUEST, API_TABLE, error_response
from cluster.protocol.errors import ErrorCode

NOT_ROUTED = (m.ListGroupsRequest, m.DeleteGroupsRequest)  # no process sends them yet: their rules are tried by vectors


def requests(base: type[Request] = Request) -> Iterator[type[Request]]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith("cluster.protocol") and kind not in (GroupRequest, TransactionalIdRequest):
            yield kind
        yield from requests(kind)


def handlers() -> set[type[Request]]:
    config, nothing = resolve("broker", {}), cast(Any, None)
    fixed = BrokerConfig.of(config)
    return {
        *BrokerRequests(nothing, nothing, nothing, nothing).handlers(),
        *GroupCoordinatorService(nothing, fixed, config, nothing, {}).handlers(),
        *TransactionCoordinatorService(nothing, fixed, config, nothing, nothing).handlers(),
        *TransactionalRequests(nothing, fixed, nothing, nothing, nothing).handlers(),
    }


def test_every_request_has_one_row_in_the_order_of_api_keys() -> None:
    assert set(requests()) == set(API_OF_REQUEST)
    keys = [row.key for row in API_TABLE]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("row", API_TABLE, ids=lambda row: row.name)
def test_a_row_agrees_with_the_documentation_of_its_request(row: Api) -> None:
    assert re.match(rf"{row.name} \(API {row.key}\)", row.request.__doc__ or ""), row.request.__doc__


def test_commands_know_the_apis_that_clients_send() -> None:
    """The names are command texts, so they stay."""
    assert API_NAMES == (
        "Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup",
        "Heartbeat", "LeaveGroup", "SyncGroup", "InitProducerId", "OffsetForLeaderEpoch", "AddPartitionsToTxn",
        "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit", "ConsumerGroupHeartbeat",
    )  # fmt: skip


def test_every_api_has_a_handler() -> None:
    assert handlers() == set(API_OF_REQUEST) - set(NOT_ROUTED)
    assert all(API_OF_REQUEST[kind].sent_by is SentBy.ADMIN for kind in NOT_ROUTED)


@pytest.mark.parametrize("row", API_TABLE, ids=lambda row: row.name)
def test_what_a_coordinator_serves_can_be_refused(row: Api) -> None:
    assert (row.error_response is not None) is (row.served_by is not ServedBy.BROKER)


def test_an_error_takes_the_shape_of_its_request() -> None:
    error = ErrorCode.NOT_COORDINATOR
    added = t.AddPartitionsToTxnRequest("pay", 7, 0, ("a-0", "a-1"))
    assert error_response(added, error) == t.AddPartitionsToTxnResponse({"a-0": error, "a-1": error})
    joined = m.JoinGroupRequest("g", "g-1", "g-1", 1, 1, {})
    assert error_response(joined, error) == m.JoinGroupResponse(error, member_id="g-1")
    with pytest.raises(TypeError, match="FetchRequest"):
        error_response(m.FetchRequest("g-1", {}, 1, 1), error)
