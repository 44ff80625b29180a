"""The proxy before a real broker: what is not lost goes through, and a lost response ends its connection."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.fidelity.recorder.proxy import API_KEYS, HOST, REQUEST, Proxy

LENGTH = struct.Struct(">i")


def read_frame(end: socket.socket) -> bytes:
    """One frame, b"" when the connection is over."""
    with end.makefile("rb", buffering=0) as stream:
        head = stream.read(LENGTH.size)
        return stream.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""


def echo(server: socket.socket) -> None:
    """A broker that answers every request with its correlation id and nothing else."""
    while True:
        try:
            end, _ = server.accept()
        except OSError:  # the test is over
            return
        threading.Thread(target=_serve, args=(end,), daemon=True).start()


def _serve(end: socket.socket) -> None:
    with end:
        while frame := read_frame(end):
            body = LENGTH.pack(REQUEST.unpack_from(frame)[2])
            end.sendall(LENGTH.pack(len(body)) + body)


def free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.fixture
def proxy() -> Iterator[tuple[Proxy, int]]:
    """A proxy before a broker, and the port that clients connect to."""
    port = free_port()
    with socket.create_server((HOST, 0)) as broker:
        threading.Thread(target=echo, args=(broker,), daemon=True).start()
        made = Proxy(port, broker.getsockname()[1])
        yield made, port
        with suppress(OSError):  # a test has ended it
            made.end()


@contextmanager
def client(port: int) -> Iterator[socket.socket]:
    with socket.create_connection((HOST, port), timeout=10) as end:
        yield end


def ask(end: socket.socket, api: str, name: str, correlation_id: int) -> bytes:
    """The answer to a request, b"" when the connection ends instead."""
    frame = REQUEST.pack(API_KEYS[api], 9, correlation_id, len(name)) + name.encode() + b"body"
    end.sendall(LENGTH.pack(len(frame)) + frame)
    return read_frame(end)


def test_what_is_not_lost_goes_through(proxy: tuple[Proxy, int]) -> None:
    _, port = proxy
    with client(port) as end:
        assert [LENGTH.unpack(ask(end, "JoinGroup", "g-1", number))[0] for number in (7, 8)] == [7, 8]


def test_a_lost_response_ends_its_connection_and_the_next_one_is_answered(proxy: tuple[Proxy, int]) -> None:
    made, port = proxy
    made.lose(1, "JoinGroup", "g-1")
    with client(port) as end:
        assert ask(end, "Heartbeat", "g-1", 1)
        assert ask(end, "JoinGroup", "g-1", 2) == b""
    with client(port) as end:
        assert ask(end, "JoinGroup", "g-1", 3)


def test_another_clients_response_is_not_lost(proxy: tuple[Proxy, int]) -> None:
    made, port = proxy
    made.lose(1, "JoinGroup", "g-2")
    with client(port) as end, client(port) as other:
        assert ask(end, "JoinGroup", "g-1", 1)
        assert ask(other, "JoinGroup", "g-2", 1) == b""


def test_without_a_client_the_next_responses_to_any_are_lost(proxy: tuple[Proxy, int]) -> None:
    made, port = proxy
    made.lose(2, "JoinGroup", "")
    for name in ("g-1", "g-2"):
        with client(port) as end:
            assert ask(end, "JoinGroup", name, 1) == b""
    with client(port) as end:
        assert ask(end, "JoinGroup", "g-3", 1)


def test_the_next_pass_has_its_port_again(proxy: tuple[Proxy, int]) -> None:
    made, port = proxy
    made.end()
    again = Proxy(port, free_port())
    with client(port) as end:
        assert end.recv(1) == b""
    again.end()


def test_a_proxy_of_a_dead_broker_takes_no_client() -> None:
    port = free_port()
    made = Proxy(port, free_port())
    with client(port) as end:
        assert end.recv(1) == b""
    made.end()
