"""The pytest plugin: a `flight` fixture for tests of scenarios (docs/pytest.md)."""
