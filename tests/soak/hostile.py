"""Clients that `kith serve` must refuse, or outlive."""

import os
import socket
import struct
import time


class Unexpected(Exception):
    """The server did what it must not."""


def exchange(port, data, wait=15):
    """All that comes back for some bytes until the server closes."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), wait) as client:
        try:
            client.sendall(data)
            while more := client.recv(65536):
                answer += more
        except (ConnectionResetError, BrokenPipeError, TimeoutError):
            pass
    return answer


def statuses(answer):
    """Of all answers in what came; bodies have no such lines."""
    return [int(line[9:12]) for line in answer.split(b"\r\n")
            if line.startswith(b"HTTP/1.1 ")]


def smuggled(world, random):
    """Requests whose end two servers could see at different places. Whatever
    hides behind must not be answered."""
    hidden = (f"GET /api/info HTTP/1.1\r\nHost: localhost:{world.port}\r\n"
              f"Authorization: Bearer {world.token}\r\n"
              "Connection: close\r\n\r\n").encode()
    size = str(len(hidden)).encode()
    forms = [
        b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding\n: chunked\r\n\r\n0\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: " + size + b"\r\n\r\n",
        b"Content-Length: 0, " + size + b"\r\n\r\n",
        b"Content-Length: +0\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 0x0\r\n\r\n",
        b"Content-Length : 0\r\n\r\n",
        b"Content-Length: 0\r\n Content-Length: 9\r\n\r\n",
        b"X: a\0b\r\nContent-Length: 0\r\n\r\n",
        b"X: a\rContent-Length: 9\r\n\r\n",
        b": nothing\r\n\r\n",
    ]
    form = random.choice(forms)
    head = (f"POST /api/search HTTP/1.1\r\nHost: localhost:{world.port}\r\n"
            "Content-Type: image/png\r\n"
            f"Authorization: Bearer {world.token}\r\n").encode()
    answer = exchange(world.port, head + form + hidden)
    found = statuses(answer)
    if 200 in found or any(status >= 500 and status != 503
                           for status in found):
        raise Unexpected(f"{found} for {form!r}")
    if len(found) > 1:
        raise Unexpected(f"{len(found)} answers for {form!r}")
    return found[0] if found else 0


def misnamed(world, random):
    """Hosts and origins of others: DNS rebinding, posts from other sites."""
    right = {"Authorization": f"Bearer {world.token}"}
    fields, wanted = random.choice([
        ({"Host": "evil.example"}, {421}),
        ({"Host": f"evil.example:{world.port}"}, {421}),
        ({"Host": f"127.0.0.1.evil.example:{world.port}"}, {421}),
        ({"Host": f"localhost:{world.port}@evil.example"}, {400, 421}),
        ({"Host": "127.0.0.1:1"}, {421}),
        ({"Host": ""}, {400, 421}),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"},
         {403}),
        ({"Sec-Fetch-Site": "same-site"}, {403})])
    status = world.ask("GET", "/api/info", None, {**right, **fields})[0]
    return expect(status, wanted, fields)


def mistaken(world, random):
    """What users do by mistake, and what looks like that."""
    picture = random.choice(world.pictures)
    at = random.randrange(60, len(picture))
    damaged = (picture[:at] + bytes([picture[at] ^ (1 << random.randrange(8))])
               + picture[at + 1:])
    kind, body, target, wanted = random.choice([
        ("image/png", picture[:at], "/api/search", {400}),
        # A bit in a chunk that is skipped changes nothing.
        ("image/png", damaged, "/api/search", {200, 400, 413, 415}),
        ("image/png", os.urandom(random.randrange(1, 50_000)), "/api/search",
         {400, 415}),
        ("image/jpeg", b"\xff\xd8\xff\xe0" + os.urandom(3000), "/api/search",
         {400}),
        ("multipart/form-data; boundary=B", b"--B\r\n" + os.urandom(200),
         "/api/search", {400}),
        ("text/plain", picture, "/api/search", {415}),
        ("image/png", picture, "/api/search?k=0", {400}),
        ("image/png", picture, "/api/search?k=5&nothing=1", {400}),
        ("image/png", picture, "/api/search?label=no%20such", {400}),
        ("image/png", picture, "/api/items/1", {405}),
        ("image/png", bytes(world.max_body + 1), "/api/search", {413}),
        ("image/png", picture, "/api/items?id=..%2f..%2fx", {400}),
        ("image/png", picture, "/../../etc/passwd", {400, 404})])
    status = world.ask("POST", target, body,
                       {"Authorization": f"Bearer {world.token}",
                        "Content-Type": kind})[0]
    return expect(status, wanted, target)


def unknown(world, random):
    """Without the token, or with a wrong one."""
    field = random.choice(["", "Bearer", f"Bearer {world.token[:-1]}",
                           f"Bearer {world.token}x", f"Basic {world.token}",
                           "Bearer " + "a" * random.randrange(1, 4000)])
    status = world.ask("GET", "/api/info", None, {"Authorization": field})[0]
    return expect(status, {401, 429}, field[:40])


def slow_reader(world, random):
    """Asks for pictures and does not take them, then goes."""
    ahead = "".join(
        f"GET /api/items/{random.randrange(world.count)}/image HTTP/1.1\r\n"
        f"Host: localhost:{world.port}\r\n"
        f"Authorization: Bearer {world.token}\r\n\r\n"
        for _ in range(20)).encode()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.settimeout(15)
        client.connect(("127.0.0.1", world.port))
        client.sendall(ahead)
        for _ in range(random.randrange(10)):
            time.sleep(0.1)
            client.recv(100)
    return 0


def half_open(world, random):
    """Stops in the middle, then goes, sometimes without a good bye."""
    whole = (f"POST /api/search HTTP/1.1\r\nHost: localhost:{world.port}\r\n"
             f"Authorization: Bearer {world.token}\r\n"
             f"Content-Length: {len(world.pictures[0])}\r\n\r\n"
             ).encode() + world.pictures[0]
    with socket.create_connection(("127.0.0.1", world.port), 15) as client:
        if random.random() < 0.5:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))
        client.sendall(whole[:random.randrange(len(whole))])
        time.sleep(random.random() * 2)
    return 0


def endless_header(world, random):
    """A field now and then, or one that never ends."""
    with socket.create_connection(("127.0.0.1", world.port), 15) as client:
        client.sendall(b"GET / HTTP/1.1\r\n")
        try:
            if random.random() < 0.5:
                for i in range(20):
                    client.sendall(b"X-%d: y\r\n" % i)
                    time.sleep(0.2)
            else:
                client.sendall(b"X: " + b"y" * 100_000)
            answer = client.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            return 0
    return expect((statuses(answer) or [0])[0], {0, 408, 431}, "a header")


def flood(world, random):
    """Many connections at once, of which some begin to ask."""
    held = []
    try:
        for _ in range(world.flood):
            client = socket.create_connection(("127.0.0.1", world.port), 15)
            held.append(client)
            if random.random() < 0.5:
                client.sendall(b"GET /api/in")
        time.sleep(0.3)
    except OSError:  # the server closes what it has no place for
        pass
    finally:
        for client in held:
            client.close()
    time.sleep(1)
    return 0


def expect(status, wanted, what):
    # Under a flood there may be no place.
    if status in wanted or status in (0, 503):
        return status
    raise Unexpected(f"{status} in place of {sorted(wanted)} for {what}")


KINDS = [smuggled, misnamed, mistaken, unknown, slow_reader, half_open,
         endless_header, flood]
