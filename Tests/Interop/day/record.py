"""What happened on a day, as it is told."""

import json
import re
import time

# Nobody is shown a code that opens a door.
SETUP_CODE = re.compile(r"(LATCH[12]:)\S+")


class Record:
    """What happened, for people as it happens, and for `latch-lab day`."""

    def __init__(self, path, directory):
        self._file = open(path, "w", encoding="utf-8")
        self._directory = directory
        self.broken = 0

    def write(self, at=None, **fields):
        line = {"at": at or now(), **fields}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def scene(self, title, text):
        self.write(scene=title, text=text)
        print(f"\n{title}\n{'=' * len(title)}\n{text}\n", flush=True)

    def shown(self, text):
        return SETUP_CODE.sub(r"\1…", text.replace(self._directory + "/", ""))

    def command(self, words, lines, status):
        words, lines = self.shown(words), [self.shown(line) for line in lines]
        self.write(command=words, lines=lines, status=status)
        print(f"$ {words}", *[f"  {line}" for line in lines], sep="\n", flush=True)

    def act(self, text):
        self.write(act=text)
        print(f"* {text}", flush=True)

    def door(self, at, text):
        self.write(at, door=text)
        print(f"                                        | {text}", flush=True)

    def promise(self, text, held):
        self.write(promise=text, held=bool(held))
        self.broken += not held
        print(f"{'held  ' if held else 'BROKEN'} {text}", flush=True)


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
