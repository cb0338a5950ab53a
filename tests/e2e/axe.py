"""axe-core, which judges a page in the browser for people who can't see it well or use no mouse. From npm, as axe/package-lock.json
says, into the cache."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from harness import Skipped

HERE = pathlib.Path(__file__).resolve().parent / "axe"
RUN = """axe.run(document, {preload: false}).then(({violations}) => violations.flatMap(({id, help, nodes}) =>
  nodes.map((node) => `${id} (${help}): ${node.target.join(" ")}: ${node.html.slice(0, 120)}: ${node.failureSummary}`)))"""


def source():
    """Its script. Skips the test where npm can't install it."""
    lock = (HERE / "package-lock.json").read_bytes()
    cache = pathlib.Path(os.environ.get("MIST_CACHE", pathlib.Path.home() / ".cache/mistletoe-build"))
    directory = cache / f"axe-{hashlib.sha256(lock).hexdigest()[:16]}"
    script = directory / "node_modules/axe-core/axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise Skipped("there is no npm here, which installs axe-core")
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".axe-") as work:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, work)
            done = subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=work,
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Skipped(f"npm can't install axe-core: {done.stderr.strip()[-300:]}")
            try:
                pathlib.Path(work).rename(directory)
            except OSError:
                pass  # another run was first
            else:
                pathlib.Path(work).mkdir()
    return script.read_text()


def violations(browser):
    """Of the page that it shows: sentences, none if all is well."""
    if not browser.value("typeof axe === 'object'"):
        browser.value(source() + "; 0")
    return browser.value(RUN)
