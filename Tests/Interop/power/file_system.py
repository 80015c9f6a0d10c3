"""The file system of a machine whose power is cut: an ext4, and the check that a boot makes before it mounts one."""

import os
import struct
import subprocess

from disk import SECTOR_OCTETS

DISK_MEGABYTES = 32
# A file system of this size has the smallest blocks. Those are two sectors: a disk can tear each of them.
BLOCK_OCTETS = 1024

# The head of a block of ext4's journal, big-endian: magic, kind, transaction. A commit block ends a transaction.
JOURNAL_MAGIC, COMMIT_BLOCK = 0xC03B3998, 2


def empty_file_system(directory):
    path = os.path.join(directory, "empty.img")
    with open(path, "wb") as file:
        file.truncate(DISK_MEGABYTES << 20)
    options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-b", str(BLOCK_OCTETS), "-E", options, path], check=True)
    return _read(path)


def check_as_a_boot(directory, medium):
    """Checks the file system as a boot does before it mounts one. What that made of the medium where it had to mend
    something, else None; and what is still wrong, or None.

    A disk may tear the commit block of ext4's last transaction. The kernel inside takes that for damage and mounts nothing
    (EUCLEAN); the check drops the transaction, which no flush had confirmed. A journal that is whole is left to the kernel."""
    path = os.path.join(directory, "left.img")
    _write(path, medium)
    # Status 1: something was mended besides. The replay of a journal alone is no mending.
    first = subprocess.run(["e2fsck", "-p", path], capture_output=True, text=True, check=False)
    if first.returncode > 1:
        return None, first.stdout.strip() or first.stderr.strip()
    second = subprocess.run(["e2fsck", "-f", "-n", path], capture_output=True, text=True, check=False)
    if second.returncode != 0:
        return None, second.stdout.strip()
    is_mended = first.returncode == 1 or "replay was aborted" in first.stdout
    return _read(path) if is_mended else None, None


def torn_journal(directory):
    """A file system whose journal ends with a commit block of which the disk has made the first sector only."""
    path = os.path.join(directory, "torn.img")
    _write(path, empty_file_system(directory))
    block = os.path.join(directory, "block")
    _write(block, os.urandom(BLOCK_OCTETS))
    # Any block will do for the transaction's: nobody replays it.
    told = f"journal_open -c -v 3\njournal_write -b 20000 {block}\njournal_close\n"
    subprocess.run(["debugfs", "-w", "-f", "-", path], input=told, text=True, capture_output=True, check=True)
    medium = bytearray(_read(path))
    commits = [
        offset
        for offset in range(0, len(medium), BLOCK_OCTETS)
        if struct.unpack_from(">II", medium, offset) == (JOURNAL_MAGIC, COMMIT_BLOCK)
    ]
    (commit,) = commits
    medium[commit + SECTOR_OCTETS : commit + BLOCK_OCTETS] = b"\xff" * (BLOCK_OCTETS - SECTOR_OCTETS)
    return bytes(medium)


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _write(path, octets):
    with open(path, "wb") as file:
        file.write(octets)
