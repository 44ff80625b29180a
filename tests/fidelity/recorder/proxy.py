"""A proxy between real clients and one broker: where a response is lost, its connection ends.

Only scenarios with `lose next …` have them: brokers advertise their proxy to clients, and their own port to each other.
Frames are Kafka's: four bytes of length, then of a request API key, version, correlation id and client id, of a
response the correlation id.
"""

import errno
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec

HOST = "127.0.0.1"
API_KEYS = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "Heartbeat": 12,
    "LeaveGroup": 13,
    "SyncGroup": 14,
    "InitProducerId": 22,
    "EndTxn": 26,
    "TxnOffsetCommit": 28,
}
REQUEST = struct.Struct(">hhih")  # API key, version, correlation id, length of the client id
NUMBER = struct.Struct(">i")
GONE = (errno.EBADF, errno.ECONNRESET, errno.ENOTCONN, errno.EPIPE)


class _Loss(msgspec.Struct):
    """How many responses of an API are still to be lost, to one client or to any."""

    key: int
    client: str
    left: int


class Proxy:
    """Listens on a port from now on, and connects each client to the broker's."""

    def __init__(self, port: int, broker_port: int) -> None:
        self._broker_port = broker_port
        self._losses: list[_Loss] = []
        self._lock = threading.Lock()
        self._server = socket.create_server((HOST, port))
        threading.Thread(target=self._serve, daemon=True).start()

    def lose(self, count: int, api: str, client: str) -> None:
        """Lose the next responses of an API from now on, to one client or ("") to any."""
        with self._lock:
            self._losses.append(_Loss(API_KEYS[api], client, count))

    def end(self) -> None:
        """Take no more connections, and free the port."""
        self._server.shutdown(socket.SHUT_RDWR)  # a thread waits in accept(), which close() alone does not end
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:  # it was closed
                return
            try:
                broker = socket.create_connection((HOST, self._broker_port))
            except ConnectionError:  # the broker is down: so is its proxy
                client.close()
                continue
            self._connect(client, broker)

    def _connect(self, client: socket.socket, broker: socket.socket) -> None:
        asked: dict[int, tuple[int, str]] = {}

        def forwards(frame: bytes) -> bool:
            key, _, correlation_id, length = REQUEST.unpack_from(frame)
            asked[correlation_id] = key, frame[REQUEST.size : REQUEST.size + max(0, length)].decode()
            return True

        def answers(frame: bytes) -> bool:
            return not self._is_lost(*asked.pop(NUMBER.unpack_from(frame)[0]))

        for end in (client, broker):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for words in ((client, broker, forwards), (broker, client, answers)):
            threading.Thread(target=_pump, args=words, daemon=True).start()

    def _is_lost(self, key: int, client: str) -> bool:
        with self._lock:
            for loss in self._losses:
                if loss.left and loss.key == key and loss.client in ("", client):
                    loss.left -= 1
                    return True
        return False


def _pump(source: socket.socket, target: socket.socket, passes: Callable[[bytes], bool]) -> None:
    """Frames from one end to the other until one does not pass, or an end is gone; then both are."""
    try:
        with source.makefile("rb") as stream:
            while len(head := stream.read(NUMBER.size)) == NUMBER.size:
                size = NUMBER.unpack(head)[0]
                frame = stream.read(size)
                if len(frame) < size or not passes(frame):
                    break
                target.sendall(head + frame)
    except OSError as error:
        if error.errno not in GONE:
            raise
    finally:
        for end in (source, target):
            with suppress(OSError):  # the other thread was here before
                end.shutdown(socket.SHUT_RDWR)
        source.close()
