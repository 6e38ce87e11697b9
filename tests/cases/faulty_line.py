"""A line to a server that is cut at a chosen instant: when an answer is on its way."""

import socket
import threading
from contextlib import suppress


class FaultyLine:
    """Passes on what clients and a server on 127.0.0.1 say to each other.

    Attributes:
        port: that it listens on.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._word: bytes | None = None
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_answers_to(self, word: bytes) -> None:
        """Deliver the next message with a word, and cut the line in place of the answer."""
        self._word = word

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        lost = threading.Event()

        def answers() -> None:
            with suppress(OSError):
                while (data := server.recv(65536)) and not lost.is_set():
                    client.sendall(data)
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

        with client, server:
            back = threading.Thread(target=answers, daemon=True)
            back.start()
            with suppress(OSError):
                while data := client.recv(65536):
                    if self._word and self._word in data:
                        self._word = None
                        self.cuts += 1
                        lost.set()
                    server.sendall(data)
            with suppress(OSError):
                server.shutdown(socket.SHUT_WR)
            back.join()
