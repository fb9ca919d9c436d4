"""Requests and answers of a server as bytes."""

from __future__ import annotations

import json
import re
import socket

HEAD = "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
"""The first lines of a request to translate."""


def request_of(text: str, *headers: str) -> bytes:
    """A request to translate a text, with further headers."""
    body = json.dumps({"text": text}).encode()
    rest = "".join(f"{header}\r\n" for header in (*headers, f"Content-Length: {len(body)}"))
    return f"{HEAD}{rest}\r\n".encode() + body


def one_answer(connection: socket.socket) -> bytes:
    """The bytes of an answer, by its length; fewer if the connection ends before."""
    found = bytearray()
    while not is_whole(found) and (part := connection.recv(65536)):
        found += part
    return bytes(found)


def all_bytes(connection: socket.socket) -> bytes:
    """The bytes that arrive until the connection is closed or reset."""
    found = bytearray()
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionResetError:
        found += b" (reset)"
    return bytes(found)


def is_whole(found: bytes) -> bool:
    """Whether these bytes have an answer up to its end."""
    head, end, body = found.partition(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length: (\d+)\r?$", head)
    return bool(end and length and len(body) >= int(length[1]))


def translation_in(found: bytes) -> str | None:
    """The translation in these bytes; None if they are anything but one answer."""
    head, _, body = found.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 ") or not is_whole(found):
        return None
    try:
        return str(json.loads(body)["translations"][0]["candidates"][0]["text"])
    except ValueError:  # bytes behind the answer
        return None
