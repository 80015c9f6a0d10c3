"""A screen that nobody looks at, and what is on it."""

import os
import subprocess


class Screen:
    """Of Xvfb's; with what is begun on it, which ends with it."""

    def __init__(self, directory, columns, rows):
        self._size = f"{columns}x{rows}x24"
        self._processes = []
        self.environment = {"PATH": os.environ["PATH"], "HOME": directory, "XDG_RUNTIME_DIR": directory}

    def __enter__(self):
        read, write = os.pipe()
        screen = ["Xvfb", "-displayfd", str(write), "-screen", "0", self._size, "-nolisten", "tcp", "-noreset"]
        self._processes.append(subprocess.Popen(screen, pass_fds=[write], stderr=subprocess.DEVNULL))
        os.close(write)
        with os.fdopen(read) as numbers:
            self.environment["DISPLAY"] = f":{numbers.readline().strip()}"
        return self

    def __exit__(self, kind, error, trace):
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def begin(self, command, **more):
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, text=True, **more)
        self._processes.append(process)
        return process

    def photograph(self, path, window="root"):
        """`window`: all of the screen, or the window of this name."""
        subprocess.run(["import", "-window", window, path], env=self.environment, check=True)

    def is_blank(self, path):
        colours = subprocess.run(["identify", "-format", "%k", path], capture_output=True, text=True, check=True)
        return int(colours.stdout) == 1
