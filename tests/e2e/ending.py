"""How a run ends before its tests do: they are told to stop, and the processes that they started are ended."""
import os
import pathlib
import signal
import threading
import time

_stopping = threading.Event()


class Stopping(Exception):
    """The run was interrupted while a test wanted to go on."""


def stop():
    """From now on no test starts a program or waits for anything; its cleaning up runs."""
    _stopping.set()


def go_on():
    """Raises Stopping after stop(); called wherever a test begins something or waits."""
    if _stopping.is_set():
        raise Stopping("the run was interrupted")


def processes():
    """{process id: (its parent's, when it began)} of all that have not ended."""
    found = {}
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text(errors="replace").rsplit(")", 1)[1].split()
        except OSError:  # it has just ended
            continue
        if fields[0] not in "ZX":
            found[int(file.parent.name)] = int(fields[1]), fields[19]
    return found


def descendants():
    """{process id: when it began} of this process's children, and theirs."""
    alive, found, more = processes(), {}, {os.getpid()}
    while more:
        more = {pid for pid, (parent, _) in alive.items() if parent in more}
        found |= {pid: alive[pid][1] for pid in more}
    return found


def end_processes(seconds=3):
    """All descendants: asked first, killed after `seconds`. A control plane is none; devcluster ends it by --parent-pid."""
    mine = {}
    for by in signal.SIGTERM, signal.SIGKILL:
        mine |= descendants()
        for pid in left(mine):
            try:
                os.kill(pid, by)
            except ProcessLookupError:
                pass
        end = time.monotonic() + seconds
        while left(mine) and time.monotonic() < end:
            time.sleep(0.05)


def left(those):
    alive = processes()
    return [pid for pid, began in those.items() if pid in alive and alive[pid][1] == began]
