"""A PostgreSQL server of one test, of the distribution's programs."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from catalog import free_port
from harness import Skipped, check

PASSWORD = "s3cret-of-the-database"


def programs():
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if not found:
        raise Skipped("PostgreSQL isn't installed (Debian: postgresql)")
    return found[-1].parent


class Postgres:
    """Listens at 127.0.0.1 with a password, until kill() or the end of the test. It refuses to run as root."""

    def __init__(self, t):
        self.programs = programs()
        self.port = free_port()
        self.url = f"postgresql://catalog:{PASSWORD}@127.0.0.1:{self.port}/postgres"
        # Where a user without rights may go.
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="mist-postgres-"))
        t.cleanup(lambda: shutil.rmtree(self.directory, ignore_errors=True))
        self.person = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self.person = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(self.directory, nobody.pw_uid, nobody.pw_gid)
        password = self.directory / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        done = subprocess.run([self.programs / "initdb", "--pgdata", self.directory / "data", "--username", "catalog", "--auth", "scram-sha-256",
                               "--pwfile", password, "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"], cwd="/", text=True,
                              capture_output=True, timeout=120, check=False, **self.person)
        check(done.returncode == 0, done.stdout + done.stderr)
        self.process = None
        self.start()
        t.cleanup(self.kill)

    def start(self):
        log = self.directory / "log"
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.directory / "data", "-p", str(self.port), "-k", self.directory,
                 "-c", "listen_addresses=127.0.0.1"], cwd="/", stdin=subprocess.DEVNULL, stdout=out, stderr=out, **self.person)
        end = time.monotonic() + 60
        while subprocess.run([self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False).returncode != 0:
            check(time.monotonic() < end and self.process.poll() is None, "no server:", log.read_text())
            time.sleep(0.1)

    def kill(self):
        """As a crash does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
        self.process.wait(timeout=60)

    def ask(self, sql):
        """The answer's text."""
        done = subprocess.run([self.programs / "psql", "--no-psqlrc", "-At", self.url, "-c", sql], text=True, capture_output=True,
                              timeout=60, check=False)
        check(done.returncode == 0, done.stderr)
        return done.stdout.strip()
