#!/usr/bin/env python3
"""Interrupts a command that waits for an API server which never answers; prints what happened.

Usage: interrupt.py SIGNAL COUNT [--terminal] COMMAND...

COMMAND gets --kubeconfig of that server. With --terminal its standard error is a terminal: the signal is sent when
progress is seen there, and what is printed is what remains on the screen after the last time it was cleared.
"""
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile

KUBECONFIG = """apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
"""
CLEAR = b"\x1b[J"


def read_until(descriptor, text):
    """All bytes until `text` was among them, or the other side is closed."""
    seen = b""
    while not text or text not in seen:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # how a terminal says that its other side is closed
            return seen
        if not piece:
            return seen
        seen += piece
    return seen


def main():
    number, count, *command = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored, whoever started us, so not by the child
    terminal = command[0] == "--terminal"
    if terminal:
        command = command[1:]
    server = socket.create_server(("127.0.0.1", 0))
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as kubeconfig:
        kubeconfig.write(KUBECONFIG.format(port=server.getsockname()[1]))
        kubeconfig.flush()
        reading, writing = pty.openpty() if terminal else os.pipe()
        child = subprocess.Popen([*command, "--kubeconfig", kubeconfig.name], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=writing, env=os.environ | {"TERM": "xterm"})
        os.close(writing)
        connection, _ = server.accept()
        connection.recv(1)  # now it waits for the answer
        if terminal:
            read_until(reading, b"asking")
        for _ in range(int(count)):
            child.send_signal(signal.Signals[number])
        errors = read_until(reading, b"")
        out, _ = child.communicate(timeout=60)
        connection.close()
    if terminal:
        errors = errors[errors.rindex(CLEAR) + len(CLEAR):]
    print(f"exit code {child.returncode}")
    print((out + errors).decode().replace("\r\n", "\n"), end="")


if __name__ == "__main__":
    main()
