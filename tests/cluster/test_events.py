"""The catalogue of events is whole: each struct has a kind, and is imported by the package under its own name."""

from cluster import events


def test_every_event_is_in_the_catalogue() -> None:
    declared = [cls for cls in events.Event.__subclasses__() if cls.__module__.startswith("cluster.events.")]
    assert set(events.EVENT_KINDS.values()) == set(declared)
    assert all(getattr(events, cls.__name__) is cls for cls in declared)


def test_a_kind_is_the_name_of_its_struct() -> None:
    assert events.kind_of(events.RecordsAppended) == "records_appended"
    assert events.EVENT_KINDS["records_appended"] is events.RecordsAppended
