"""A held port is for the server that was told of it alone, however often that server restarts."""

import socket

import pytest

from tangram.sandbox.loopback import LOOPBACK, held_port


def test_nobody_else_is_given_a_port_that_is_held() -> None:
    with held_port() as port, socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((LOOPBACK, port))
    with socket.socket() as later:
        later.bind((LOOPBACK, port))


def test_a_server_told_of_the_port_listens_there_and_again_after_clients_were_served() -> None:
    with held_port() as port:
        for _ in range(2):
            with (
                socket.create_server((LOOPBACK, port)) as server,
                socket.create_connection((LOOPBACK, port)),
            ):
                # Closed here first: the place is left in the state in which a plain server could not take it again.
                server.accept()[0].close()


def test_until_that_server_listens_whoever_asks_is_refused() -> None:
    with held_port() as port, pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, port))
