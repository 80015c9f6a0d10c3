"""A disk whose power can be cut, for a virtual machine: a server of the Network Block Device protocol, on a unix socket.

A write stays in the disk's cache until a flush, as on any disk. At a cut the caller chooses what the medium keeps of the
cache. The protocol is https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md: fixed newstyle, simple replies."""

import socket
import struct
import threading

# The part of a write that a disk makes whole or not at all.
SECTOR_OCTETS = 512

OPTION_MAGIC, REPLY_MAGIC = 0x49484156454F5054, 0x3E889045565A9
REQUEST_MAGIC, SIMPLE_REPLY_MAGIC = 0x25609513, 0x67446698
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
HAS_FLAGS, SEND_FLUSH = 1, 4
OPTION_ABORT, OPTION_GO = 2, 7
REPLY_ACK, REPLY_INFO, REPLY_UNSUPPORTED = 1, 3, (1 << 31) + 1
READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3
EINVAL = 22


class CutDisk:
    def __init__(self, image, path, lies=False):
        """`image` is what the medium has at first. A disk that lies says of each flush that it was made, and makes none."""
        self._medium = bytearray(image)
        self._shown = bytearray(image)
        self._cache = []
        self._lies = lies
        self._lock = threading.Lock()
        self._cut_at = None
        self._on_cut = None
        self.operations = 0
        # What the power went at, once it has: `WRITE`, `FLUSH`, or None for a cut between two operations.
        self.is_cut = False
        self.cut_in = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self._listener.close()

    def arm(self, number, on_cut):
        """Counts writes and flushes from 1 from now on. The power goes at `number`, and `on_cut` ends the machine."""
        with self._lock:
            self.operations, self._cut_at, self._on_cut = 0, number, on_cut

    def cut(self):
        """The power goes now, unless it has gone."""
        with self._lock:
            if not self.is_cut:
                self._lose_power(None)

    def restore(self, choice, chance):
        """The power is back. Of the cache the medium has nothing (0), everything (1), the first writes (2), those and the
        next one torn (3), or what chance says. For a disk whose machine has ended. How many octets of how many it kept."""
        with self._lock:
            count = len(self._cache)
            first = chance.randrange(count) if count else 0
            kept = 0
            for place, (offset, octets) in enumerate(self._cache):
                torn = chance.randrange(max(1, len(octets) // SECTOR_OCTETS)) * SECTOR_OCTETS
                length = {
                    0: 0,
                    1: len(octets),
                    2: len(octets) if place < first else 0,
                    3: len(octets) if place < first else torn if place == first else 0,
                }.get(choice)
                if length is None:
                    length = chance.choice([0, 0, 0, torn, *[len(octets)] * 4])
                self._medium[offset : offset + length] = octets[:length]
                kept += length
            written = sum(len(octets) for _, octets in self._cache)
            self._cache = []
            self._shown[:] = self._medium
            self.is_cut, self.cut_in, self._cut_at = False, None, None
            return kept, written

    def medium(self):
        with self._lock:
            return bytes(self._medium)

    def put(self, medium):
        """What somebody made of the medium while no machine had it."""
        with self._lock:
            self._medium[:] = medium
            self._shown[:] = medium

    # What follows runs in the threads that serve.

    def _lose_power(self, operation):
        self.is_cut, self.cut_in = True, operation
        if self._on_cut is not None:
            self._on_cut()

    def _has_power(self, operation):
        """Counts it. Before anybody hears of the end of the operation that the power goes at: nothing can rest on it."""
        if self.is_cut:
            return False
        self.operations += 1
        if self.operations == self._cut_at:
            self._lose_power(operation)
        return not self.is_cut

    def _read(self, offset, length):
        with self._lock:
            return None if self.is_cut else bytes(self._shown[offset : offset + length])

    def _write(self, offset, octets):
        with self._lock:
            if self.is_cut:
                return False
            # The medium may also have the write that the power goes at.
            self._cache.append((offset, octets))
            if not self._has_power(WRITE):
                return False
            self._shown[offset : offset + len(octets)] = octets
            return True

    def _flush(self):
        with self._lock:
            if not self._has_power(FLUSH):
                return False
            if not self._lies:
                for offset, octets in self._cache:
                    self._medium[offset : offset + len(octets)] = octets
                self._cache = []
            return True

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        with connection, connection.makefile("rb") as stream:
            try:
                if self._negotiate(connection, stream):
                    while self._answer(connection, stream):
                        pass
            except (OSError, EOFError):
                # A machine without power closes its socket in the middle of anything.
                pass

    def _negotiate(self, connection, stream):
        connection.sendall(b"NBDMAGIC" + struct.pack(">QH", OPTION_MAGIC, FIXED_NEWSTYLE | NO_ZEROES))
        take(stream, 4)
        while True:
            _, option, length = struct.unpack(">QII", take(stream, 16))
            take(stream, length)

            def reply(kind, data=b"", option=option):
                connection.sendall(struct.pack(">QIII", REPLY_MAGIC, option, kind, len(data)) + data)

            if option == OPTION_GO:
                reply(REPLY_INFO, struct.pack(">HQH", 0, len(self._shown), HAS_FLAGS | SEND_FLUSH))
                reply(REPLY_ACK)
                return True
            reply(REPLY_ACK if option == OPTION_ABORT else REPLY_UNSUPPORTED)
            if option == OPTION_ABORT:
                return False

    def _answer(self, connection, stream):
        """Whether the connection goes on."""
        _, _, kind, handle, offset, length = struct.unpack(">IHHQQI", take(stream, 28))
        if kind == DISCONNECT:
            return False
        octets = take(stream, length) if kind == WRITE else b""
        error, data = 0, b""
        if offset + length > len(self._shown):
            error = EINVAL
        elif kind == READ:
            data = self._read(offset, length)
            if data is None:
                return False
        elif kind in (WRITE, FLUSH):
            if not (self._write(offset, octets) if kind == WRITE else self._flush()):
                return False
        else:
            error = EINVAL
        connection.sendall(struct.pack(">IIQ", SIMPLE_REPLY_MAGIC, error, handle) + data)
        return True


def take(stream, count):
    octets = stream.read(count)
    if len(octets) != count:
        raise EOFError
    return octets
