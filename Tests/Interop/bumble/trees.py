"""What our peripheral publishes for a client to try everything on."""

import host

LONG = bytes(number * 7 % 256 for number in range(512))
LONG_UUID = "0F0E0D0C-0B0A-0908-0706-050403020100"
SERVICE = host.UUID.from_16_bits(0xFFF0)
INNER = {
    "uuid": "FFE0",
    "secondary": True,
    "characteristics": [{"uuid": "FFE1", "properties": ["read"], "permissions": ["readable"], "constant": b"inner"}],
}
MAIN = {
    "uuid": "FFF0",
    "includes": ["FFE0"],
    "characteristics": [
        {
            "uuid": "FFF1",
            "name": "open",
            "properties": ["read", "write", "writeWithoutResponse"],
            "permissions": ["readable", "writeable"],
            "value": b"\x01\x02\x03",
            "descriptors": [{"uuid": "2901", "text": "Open"}, {"uuid": "2904", "value": bytes(7)}],
        },
        {
            "uuid": "FFF2",
            "name": "long",
            "properties": ["read", "write"],
            "permissions": ["readable", "writeable"],
            "value": LONG,
        },
        {"uuid": "FFF3", "name": "notifying", "properties": ["notify"], "permissions": []},
        {"uuid": "FFF4", "name": "indicating", "properties": ["indicate"], "permissions": []},
        {"uuid": "FFF5", "name": "first", "properties": ["read"], "permissions": ["readable"], "constant": b"one"},
        {"uuid": "FFF5", "name": "second", "properties": ["read"], "permissions": ["readable"], "constant": b"two"},
        {
            "uuid": LONG_UUID,
            "name": "scripted",
            "properties": ["read", "write"],
            "permissions": ["readable", "writeable"],
            "answers": "script",
        },
        {"uuid": "FFF6", "name": "readOnly", "properties": ["read"], "permissions": ["readable"], "value": b"r"},
        {"uuid": "FFF7", "name": "writeOnly", "properties": ["write"], "permissions": ["writeable"], "maximum": 8},
    ],
}
GUARDED = {
    "uuid": "FFD0",
    "characteristics": [
        {
            "uuid": f"FFD{number}",
            "name": name,
            "properties": ["read", "write", "notify"],
            "access": {"read": level, "writeRequest": level, "subscribe": level, **more},
            "value": name.encode(),
        }
        for number, (name, level, more) in enumerate(
            [
                ("encrypted", "encrypted", {}),
                ("authenticated", "encryptedAuthenticated", {}),
                ("secure", "encryptedSecureConnections", {}),
                ("authorised", "open", {"requiresAuthorization": True}),
            ],
            1,
        )
    ],
}
EXTRA = {
    "uuid": "FFC0",
    "characteristics": [{"uuid": "FFC1", "properties": ["read"], "permissions": ["readable"], "constant": b"x"}],
}
