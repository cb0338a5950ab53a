"""Which line of a package gave each line of its output: that of the call which printed it, or handed it over."""
import io
import sys


class Printed(io.TextIOWrapper):
    """Standard output that knows which line printed what. `file_of` gives the package's file of a file name, or None."""

    def __init__(self, buffer, file_of):
        super().__init__(buffer, encoding="utf-8", newline="\n", write_through=True)
        self._file_of = file_of
        self._length = 0
        self._lines = [None]
        self._begun = False

    def write(self, text):
        if not isinstance(text, str):
            return super().write(text)
        place = self._place()
        for number, part in enumerate(text.split("\n")):
            if number > 0:
                self._lines.append(place)
                self._begun = False
            if not self._begun and part and not part.isspace():
                self._lines[-1], self._begun = place, place is not None
        self._length += len(text)
        return super().write(text)

    def _place(self):
        frame = sys._getframe(2)
        while frame is not None:
            file = self._file_of(frame.f_code.co_filename)
            if file is not None:
                return file, frame.f_lineno
            frame = frame.f_back
        return None

    def origins(self, text):
        """Those of `text`, all that was printed; none: some of it went around this."""
        return origins_of(self._lines) if len(text) == self._length else []


def origins_of(places):
    """For each line its file and line, or None: as `origins` of a MistResult has them, one or a list."""
    found = {}
    for number, place in enumerate(places):
        if place is not None:
            lines = found.setdefault(place[0], [0] * len(places))
            lines[number] = place[1]
    origins = [{"file": file, "lines": lines} for file, lines in found.items()]
    return origins[0] if len(origins) == 1 else origins
