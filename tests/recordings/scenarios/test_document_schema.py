"""The shape that expressions are checked against is the shape of the document that they are asked of."""

from typing import Any, get_origin

import msgspec

from cluster.events import (
    BrokerStarted,
    Event,
    GroupDeclared,
    GroupProtocolDeclared,
    LeaderElected,
    MemberDeclared,
    ProducerDeclared,
    TopicCreated,
)
from cluster.spec import GroupSpec, ProducerSpec, ScenarioSpec, TopicSpec
from cluster.view.document import ROOTS, document
from cluster.view.fold import fold
from cluster.view.state import ClusterView
from recordings.scenarios.document_schema import SHAPE, ByName, KnownNames
from tests.support.zero_document import empty_document

SPEC = ScenarioSpec(
    "t", topics=(TopicSpec("a", 1),), producers=(ProducerSpec("p", ("a",)),), groups=(GroupSpec("g", ("a",)),)
)


def made(kind: type[Event], **values: Any) -> Event:  # noqa: ANN401 - whatever its fields are
    """An event of which only some fields matter; the others are zero or empty."""
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in values:
            values[field.name] = (get_origin(field.type) or field.type)()
    return kind(**values)


def fits(value: Any, shape: Any) -> bool:  # noqa: ANN401 - nested plain data
    if isinstance(shape, ByName):
        return isinstance(value, dict) and all(fits(each, shape.node) for each in value.values())
    if isinstance(shape, dict):
        return list(value) == list(shape) and all(fits(value[key], shape[key]) for key in shape)
    return type(value) is type(shape)


def test_the_documents_roots_and_fields_are_those_of_the_shape() -> None:
    view = ClusterView()
    for event in (
        made(BrokerStarted, broker=1),
        made(TopicCreated, topic="a", partitions=1, replication_factor=1, min_insync_replicas=1),
        made(LeaderElected, partition="a-0", leader=1, replicas=(1,), isr=(1,)),
        made(GroupDeclared, group="g", topics=("a",), offset_reset="latest"),
        made(GroupProtocolDeclared, group="g", protocol="consumer"),  # its fields are a classic group's, and more
        made(MemberDeclared, group="g", member="g-1", topics=("a",)),
        made(ProducerDeclared, producer="p-1", topics=("a",)),
    ):
        fold(view, event)
    whole = document(view, 0)
    assert list(whole) == list(SHAPE) == list(ROOTS)
    for root, shape in SHAPE.items():
        assert whole[root] or root in {"now_ms", "faults", "transactions"}, f"the {root} of this document are empty"
        if root != "delivery":  # its counters come in another order
            assert fits(whole[root], shape), root
    counted = {**SHAPE["delivery"], "by_group": None}
    assert sorted(whole["delivery"]) == sorted(counted)
    assert sorted(whole["delivery"]["by_group"]["g"]) == sorted(set(counted) - {"by_group"})


def test_zeros_have_the_shape_too() -> None:
    whole = empty_document(KnownNames(SPEC), frozenset(SHAPE))
    assert all(fits(whole[root], shape) for root, shape in SHAPE.items())
    assert list(whole["partitions"]) == ["a-0"]
