"""A terminal for programs that draw on one: a pseudo terminal, and what its screen shows."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading

SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Screen:
    """Rows of text as a terminal without a scrollback limit holds them; knows what mistctl uses and no more."""

    def __init__(self, columns):
        self.columns, self.rows, self.row, self.column = columns, [""], 0, 0

    def feed(self, text):
        position = 0
        while position < len(text):
            match = SEQUENCE.match(text, position)
            if match:
                self.sequence(match[1], match[2])
                position = match.end()
                continue
            self.character(text[position])
            position += 1

    def sequence(self, number, letter):
        if letter == "A":
            self.row -= int(number or 1)
            if self.row < 0:
                raise AssertionError("the cursor went above the first line")
        elif letter == "K":
            self.rows[self.row] = self.rows[self.row][:self.column]
        elif letter == "J":
            self.rows[self.row] = self.rows[self.row][:self.column]
            del self.rows[self.row + 1:]
        elif letter != "m":
            raise AssertionError(f"an escape sequence that isn't expected: ESC [ {number} {letter}")

    def character(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row, self.column = self.row + 1, 0
            while len(self.rows) <= self.row:
                self.rows.append("")
        else:
            if self.column == self.columns:
                self.character("\n")
            line = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1

    def text(self):
        return "\n".join(line.rstrip() for line in self.rows).rstrip("\n")


class Terminal:
    """Runs a command on a terminal of that size; standard output and error both go there."""

    def __init__(self, command, environment, rows=24, columns=80, cwd=None):
        self.master, other = pty.openpty()
        self.resize(rows, columns)
        self.process = subprocess.Popen(command, env=environment, stdin=other, stdout=other, stderr=other, cwd=cwd,
                                        start_new_session=True)
        os.close(other)
        self.bytes, self.chunks = b"", []
        self.seen = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self):
        while True:
            try:
                piece = os.read(self.master, 1 << 16)
            except OSError:  # how a terminal says that its other side is closed
                piece = b""
            with self.seen:
                self.bytes += piece
                self.chunks.append(piece)
                self.seen.notify_all()
            if not piece:
                return

    def wait_for(self, text, seconds=120):
        """Until the command has printed `text`."""
        with self.seen:
            if not self.seen.wait_for(lambda: text in self.bytes.decode(errors="replace"), seconds):
                raise AssertionError(f"{text!r} was not printed in {seconds} s:\n{self.text()}")

    def type(self, text):
        """As somebody at the keyboard."""
        os.write(self.master, text.encode())

    def finish(self, seconds=120):
        """The exit code; after it all output is there."""
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"still running after {seconds} s:\n{self.text()}") from None
        self.reader.join(timeout=seconds)
        os.close(self.master)
        return code

    def text(self):
        """Everything that was printed, as sent."""
        return self.bytes.decode(errors="replace")
