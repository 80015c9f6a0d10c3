"""The project's own controllers against RootCanal's: hosts send both the same octets, and hear the same.

same_octets.py LATCH CACHE

What may differ is left out, and named here: how strong a signal is, how many commands may be on their way, the numbers of
handles, transmit powers, how exact a clock is, and how often an advertiser is heard. What RootCanal reads otherwise than
Core 5.4, Vol 4, Part E is not compared:
- 7.8.53: high duty cycle without legacy PDUs is an invalid bit combination, and RootCanal accepts it.
- 7.8.53: to an interval below 20 ms ours says Invalid HCI Command Parameters, RootCanal Unsupported Feature or Parameter
  Value.
- 7.7.65.18: a set that has had its number of events ends with Limit Reached, with RootCanal with Advertising Timeout.
- 7.7.65.10: a resolved peer has the address type of an identity, 0x02 or 0x03; RootCanal writes 0x00 or 0x01.
"""

import os
import socket
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from support.processes import DEADLINE_SECONDS
from support.radios import RootCanal, VirtualRadio
from support.steps import Suite, check, check_equal

LOCK = bytes.fromhex("0100000000C0")
KEY = bytes.fromhex("0200000000C0")
IRK_LOCK = bytes([0x11]) * 16
IRK_KEY = bytes([0x22]) * 16


class Host:
    """A host that is nothing but its octets."""

    def __init__(self, radio, address):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(DEADLINE_SECONDS)
        self._socket.connect(radio.socket)
        self._inbound = b""
        self.events = []
        self.handle = None
        self.command(0x0C03)
        self.command(0x0C01, b"\xff" * 7 + b"\x3f")
        self.command(0x2001, (0x0FFFFF).to_bytes(8, "little"))
        self.command(0x2005, address)

    def close(self):
        self._socket.close()

    def _packet(self):
        while True:
            if len(self._inbound) >= 3:
                head = 3 if self._inbound[0] == 4 else 5
                length = head + (self._inbound[2] if head == 3 else self._inbound[3] | self._inbound[4] << 8)
                if len(self._inbound) >= length:
                    packet, self._inbound = self._inbound[:length], self._inbound[length:]
                    return packet
            octets = self._socket.recv(65536)
            check(octets, "the radio closed the connection")
            self._inbound += octets

    def command(self, opcode, parameters=b""):
        """The answer: its status, and what comes with it."""
        self._socket.sendall(b"\x01" + opcode.to_bytes(2, "little") + bytes([len(parameters)]) + parameters)
        while True:
            packet = self._packet()
            if packet[1] == 0x0E and packet[4:6] == opcode.to_bytes(2, "little"):
                return packet[6:]
            if packet[1] == 0x0F and packet[5:7] == opcode.to_bytes(2, "little"):
                return packet[3:4]
            self.events.append(packet)

    def succeed(self, opcode, parameters=b""):
        check_equal(self.command(opcode, parameters)[0], 0, f"the status of {opcode:#06x}")

    def wait(self, code, subevent=None):
        """The first event of that kind that has not been waited for; those before it are left out."""
        while True:
            packet = self.events.pop(0) if self.events else self._packet()
            if packet[0] == 4 and packet[1] == code and (subevent is None or packet[3] == subevent):
                return packet[3:] if subevent is None else packet[4:]

    def connection(self):
        event = self.wait(0x3E, 0x0A)
        self.handle = event[1:3]
        return event[:1] + event[3:-1]

    def about_link(self, opcode, parameters=b""):
        return self.command(opcode, self.handle + parameters)


def advertising(handle=0, properties=0x13, own=1, peer=bytes(6), peer_type=1, policy=0, sid=3, interval=0x20, phy=1):
    interval = interval.to_bytes(3, "little")
    return (
        bytes([handle]) + properties.to_bytes(2, "little") + interval + interval + bytes([7, own, peer_type]) + peer
        + bytes([policy, 0x7F, 1, 0, phy, sid, 0])
    )  # fmt: skip


def data(handle, octets, operation=3):
    return bytes([handle, operation, 1, len(octets)]) + octets


def enable(*handles, on=1, duration=0, events=0):
    return bytes([on, len(handles)]) + b"".join(
        bytes([handle]) + duration.to_bytes(2, "little") + bytes([events]) for handle in handles
    )


def connecting(peer, own=1, peer_type=1, policy=0):
    return bytes([policy, own, peer_type]) + peer + bytes.fromhex("01 1000 1000 0600 0600 0000 6400 0000 0000")


def report(event):
    """LE Extended Advertising Report without signal strength and transmit power; without a target where none is meant,
    and without the set of a scan response, whose PDU may carry it or not."""
    is_directed, is_response = event[1] & 0x04, event[1] & 0x08
    return event[: 12 if is_response else 13] + event[15:17] + event[17 if is_directed else 24 :]


# What one host is answered, in order: opcode and parameters. The status alone counts.
ANSWERS = [
    (0x2035, b"\x07" + LOCK), (0x2037, data(7, b"")), (0x2039, enable(7)), (0x203C, b"\x07"),
    (0x2036, advertising(properties=0x13)), (0x2036, advertising(properties=0x11)),
    (0x2036, advertising(properties=0x03)), (0x2039, enable(0, 0)), (0x2039, b"\x01\x00"),
    (0x2037, data(0, bytes(32))), (0x2037, data(0, b"\x01", 1)), (0x2037, data(0, b"\x02\x01\x06")),
    (0x2039, enable(0)), (0x2035, b"\x00" + LOCK), (0x2039, enable(0)), (0x2036, advertising()),
    (0x203C, b"\x00"), (0x203D, b""), (0x2035, b"\x00" + KEY), (0x2039, enable(0, on=0)), (0x2039, enable(on=0)),
    (0x2036, advertising(1, properties=0x02)), (0x2035, b"\x01" + LOCK), (0x2039, enable(1)),
    (0x2037, data(1, b"\x01")), (0x2038, data(1, b"\x01")), (0x2039, enable(1)), (0x2039, enable(on=0)),
    (0x203C, b"\x00"), (0x203C, b"\x00"), (0x203D, b""),
    # The other family.
    (0x2006, b"\x20\x00\x20\x00\x00\x01\x00" + bytes(6) + b"\x07\x00"), (0x200A, b"\x00"), (0x200C, b"\x00\x00"),
    # Scanning and connecting.
    (0x2041, b"\x01\x00\x01\x00\x10\x00\x10\x00"), (0x2041, b"\x01\x00\x00"),
    (0x2042, b"\x01\x02\x00\x00\x00\x00"), (0x2042, b"\x01\x00\x00\x00\x00\x00"),
    (0x2041, b"\x01\x00\x01\x00\x10\x00\x10\x00"), (0x2005, LOCK), (0x2042, b"\x00\x00\x00\x00\x00\x00"),
    (0x200E, b""), (0x2043, connecting(KEY)), (0x2043, connecting(KEY)), (0x2005, LOCK), (0x200E, b""), (0x200E, b""),
    # The lists.
    (0x2011, b"\x01" + KEY), (0x2011, b"\x01" + KEY), (0x2012, b"\x01" + KEY), (0x2010, b""),
    (0x2027, b"\x01" + KEY + IRK_KEY + IRK_LOCK), (0x2027, b"\x01" + KEY + IRK_LOCK + IRK_LOCK),
    (0x204E, b"\x01" + KEY + b"\x01"), (0x204E, b"\x01" + LOCK + b"\x01"), (0x202D, b"\x01"), (0x2028, b"\x01" + LOCK),
    (0x2043, connecting(KEY)), (0x202D, b"\x00"), (0x2027, b"\x01" + LOCK + IRK_LOCK + IRK_LOCK), (0x2029, b""),
    (0x200E, b""), (0x2028, b"\x01" + KEY), (0x2028, b"\x01" + KEY), (0x202E, b"\x00\x00"), (0x202E, b"\x84\x03"),
    # Links that are not there.
    (0x0406, b"\x01\x00\x13"), (0x041D, b"\x01\x00"), (0x2013, bytes.fromhex("0100500050000000F40100000000")),
    (0x2016, b"\x01\x00"), (0x2022, b"\x01\x00\xfb\x00\x48\x08"), (0x2030, b"\x01\x00"),
    (0x2032, b"\x01\x00\x00\x02\x02\x00\x00"), (0x2031, b"\x00\x00\x01"), (0x2031, b"\x03\x00\x00"),
]  # fmt: skip


def answers(lock, key):
    return [
        f"{opcode:#06x} {parameters.hex()}: {lock.command(opcode, parameters)[0]:#04x}" for opcode, parameters in ANSWERS
    ]


def reports(lock, key):
    """What an extended scanner hears: legacy and extended PDUs, with and without scan responses, long data."""
    said = []
    key.succeed(0x2041, b"\x01\x00\x01\x01\x10\x00\x10\x00")
    for properties, octets, response in [
        (0x13, b"\x02\x01\x06", b"\x01\x09"), (0x12, b"\x02\x01\x06", b""), (0x10, b"\x02\x01\x06", None),
        (0x00, b"\x02\x01\x06", None), (0x01, b"\x02\x01\x06", None), (0x02, None, b"\x01\x09"),
    ]:  # fmt: skip
        lock.succeed(0x2036, advertising(properties=properties))
        lock.succeed(0x2035, b"\x00" + LOCK)
        if octets is not None:
            lock.succeed(0x2037, data(0, octets))
        if response is not None:
            lock.succeed(0x2038, data(0, response))
        key.succeed(0x2042, b"\x01\x01\x00\x00\x00\x00")
        lock.succeed(0x2039, enable(0))
        count = 1 if response is None else 2
        said += [report(key.wait(0x3E, 0x0D)).hex() for _ in range(count)]
        lock.succeed(0x2039, enable(on=0))
        key.succeed(0x2042, bytes(6))
        lock.succeed(0x203D)
    return said


def fragments(lock, key):
    """Data that takes several commands to set and two events to report."""
    octets = bytes(value % 256 for value in range(240))
    lock.succeed(0x2036, advertising(properties=0))
    lock.succeed(0x2035, b"\x00" + LOCK)
    said = [f"{lock.command(0x2037, data(0, octets[:100], operation=1))[0]:#04x}"]
    said.append(f"{lock.command(0x2037, data(0, octets[100:200], operation=0))[0]:#04x}")
    said.append(f"{lock.command(0x2039, enable(0))[0]:#04x}")
    said.append(f"{lock.command(0x2037, data(0, octets[200:], operation=2))[0]:#04x}")
    key.succeed(0x2041, b"\x01\x00\x01\x00\x10\x00\x10\x00")
    key.succeed(0x2042, b"\x01\x01\x00\x00\x00\x00")
    lock.succeed(0x2039, enable(0))
    return said + [report(key.wait(0x3E, 0x0D)).hex() for _ in range(2)]


def terminations(lock, key):
    """A set that has had its number of events, and one whose time is up."""
    lock.succeed(0x2036, advertising(5))
    lock.succeed(0x2035, b"\x05" + LOCK)
    lock.succeed(0x2039, enable(5, events=3))
    limit = lock.wait(0x3E, 0x12)
    lock.succeed(0x2039, enable(5, duration=10))
    timeout = lock.wait(0x3E, 0x12)
    return [limit[1:].hex(), timeout[:4].hex()]


def connect(lock, key, properties=0x13, own=1):
    lock.succeed(0x2036, advertising(properties=properties, own=own, peer=KEY))
    lock.succeed(0x2035, b"\x00" + LOCK)
    lock.succeed(0x2039, enable(0))
    key.succeed(0x2043, connecting(LOCK, own=own))
    said = [key.connection(), lock.connection()]
    terminated = lock.wait(0x3E, 0x12)
    check_equal(terminated[2:4], lock.handle, "the handle of the connection that the set made")
    return [said[0], said[1], terminated[:2]]


def links(lock, key):
    """A connection, what can be asked of it and changed on it, and its end."""
    said = [event.hex() for event in connect(lock, key)]
    said.append(key.about_link(0x2030).hex()[:2] + key.about_link(0x2030)[3:].hex())
    for own in (key, lock):
        check_equal(own.about_link(0x2032, b"\x00\x02\x02\x00\x00")[0], 0, "the status of LE Set PHY")
        event = own.wait(0x3E, 0x0C)
        said.append((event[:1] + event[3:]).hex())
    check_equal(key.about_link(0x2022, b"\xfb\x00\x48\x08")[0], 0, "the status of LE Set Data Length")
    check_equal(key.about_link(0x2013, bytes.fromhex("500050000000F40100000000"))[0], 0, "of LE Connection Update")
    for own in (key, lock):
        event = own.wait(0x3E, 0x03)
        said.append((event[:1] + event[3:]).hex())
    check_equal(lock.about_link(0x2013, bytes.fromhex("280028000000F40100000000"))[0], 0, "of the peripheral's")
    said.append(key.wait(0x3E, 0x06)[2:].hex())
    said.append(f"{key.about_link(0x2021, bytes([0x3B]))[0]:#04x}")
    event = lock.wait(0x3E, 0x03)
    said.append(event[:1].hex())
    check_equal(key.about_link(0x0406, b"\x13")[0], 0, "the status of Disconnect")
    for own in (key, lock):
        event = own.wait(0x05)
        said.append((event[:1] + event[3:]).hex())
    return said


def privacy(lock, key):
    """A connection between addresses that the controllers make: identities are told."""
    for own, peer, peer_key, local_key in ((lock, KEY, IRK_KEY, IRK_LOCK), (key, LOCK, IRK_LOCK, IRK_KEY)):
        own.succeed(0x2027, b"\x01" + peer + peer_key + local_key)
        own.succeed(0x202D, b"\x01")
    events = connect(lock, key, own=3)[:2]
    # Status, role, peer, local and peer resolvable private address, parameters.
    check_equal(events[0][9:15], events[1][15:21], "the central's resolvable address as both sides tell it")
    check_equal(events[1][9:15], events[0][15:21], "the peripheral's")
    check(all(event[14] >> 6 == 1 for event in events), "an address is no resolvable one")
    return [(event[:2] + bytes([event[2] & 1]) + event[3:9] + event[21:]).hex() for event in events]


def main(lab, cache):
    suite = Suite("same octets")
    for scene in (answers, reports, fragments, terminations, links, privacy):
        with suite.step(f"{scene.__name__}: both radios say the same") as figure:
            said = []
            for make in (lambda directory: RootCanal(cache, directory), lambda directory: VirtualRadio(lab, directory)):
                with tempfile.TemporaryDirectory() as directory:
                    radio = make(directory)
                    try:
                        lock, key = Host(radio, LOCK), Host(radio, KEY)
                        said.append(scene(lock, key))
                        lock.close()
                        key.close()
                    finally:
                        radio.terminate()
                        radio.wait()
            differences = [
                f"RootCanal says {theirs}, ours {ours}" for theirs, ours in zip(*said, strict=True) if theirs != ours
            ]
            check(not differences, "; ".join(differences))
            figure.is_(f"{len(said[0])} answers and events")
    suite.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
