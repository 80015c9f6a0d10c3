"""ATT requests as octets."""

from host import le

# Opcodes, Core 5.4, Vol 3, Part F, 3.4.8 (Attribute PDU response summary).
FIND_INFORMATION, FIND_BY_TYPE_VALUE, READ_BY_TYPE = 0x04, 0x06, 0x08
READ, READ_BLOB, READ_MULTIPLE, READ_BY_GROUP_TYPE = 0x0A, 0x0C, 0x0E, 0x10
WRITE, PREPARE, EXECUTE, READ_MULTIPLE_VARIABLE = 0x12, 0x16, 0x18, 0x20
NOTIFICATION, INDICATION, CONFIRMATION = 0x1B, 0x1D, 0x1E


def read(handle):
    return bytes([READ]) + le(handle)


def write(handle, value):
    return bytes([WRITE]) + le(handle) + value


def prepare(handle, offset, value):
    return bytes([PREPARE]) + le(handle) + le(offset) + value


def execute(flags):
    return bytes([EXECUTE, flags])
