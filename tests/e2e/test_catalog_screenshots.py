"""Pictures of every page of a catalog, for people to look at: light and dark, in a wide window and on a phone. They are written to
build/screenshots, or to the directory that $MIST_SCREENSHOTS names: tests/e2e/run.py ... --full --only screenshots"""
import os
import pathlib
import struct

from browser import Browser
from catalog_gallery import ACCOUNT_PAGES, PAGES, AccountGallery, gallery
from harness import check, equal, test
from test_catalog_accessibility import preview

SCHEMES = ("light", "dark")
WIDTHS = {"desktop": 1280, "phone": 360}
HEIGHT = 844


def size_of(picture):
    """Width and height, of a PNG's first chunk."""
    return struct.unpack(">II", picture.read_bytes()[16:24])


class Album:
    def __init__(self, t, browser):
        build = pathlib.Path(t.mistctl).resolve().parents[2]
        self.directory = pathlib.Path(os.environ.get("MIST_SCREENSHOTS") or build / "screenshots")
        self.directory.mkdir(parents=True, exist_ok=True)
        self.browser, self.count = browser, 0
        browser.call("Emulation.setScrollbarsHidden", hidden=True)

    def take(self, name):
        """The whole page that is open, in each scheme and width."""
        for scheme in SCHEMES:
            self.browser.emulate(prefers_color_scheme=scheme)
            for window, width in WIDTHS.items():
                self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False)
                # Once what has changed is drawn.
                self.browser.value("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
                path = self.directory / f"{name}-{window}-{scheme}.png"
                self.browser.screenshot(path)
                # Wider, if something runs out of the window.
                equal(size_of(path)[0], width, f"the width of {name}, {window}, {scheme}")
                check(size_of(path)[1] >= HEIGHT, name, window, scheme, "is lower than the window")
                self.count += 1
        for window in WIDTHS:
            light, dark = ((self.directory / f"{name}-{window}-{scheme}.png").read_bytes() for scheme in SCHEMES)
            check(light != dark, name, window, "looks the same in the dark")


@test(full=True, waits=True)
def screenshots_of_a_catalogs_pages_are_taken(t):
    browser = Browser(t)
    catalog, _ = gallery(t)
    album = Album(t, browser)
    for name, path in PAGES.items():
        browser.open(catalog.url + path)
        album.take(name)
    for name, path, begins in (("preview", "?host=a.example", "Rendered"), ("preview-error", "?replicas=x", "Not rendered")):
        preview(browser, f"{catalog.url}/packages/web/1.2.0-rc.1/inputs{path}", begins)
        album.take(name)
    t.note(f"{album.count} pictures in {album.directory}")


@test(full=True, waits=True)
def screenshots_of_a_catalogs_account_pages_are_taken(t):
    browser = Browser(t)
    accounts = AccountGallery(t, browser)
    album = Album(t, browser)
    for name, (_, who, path, *forms) in ACCOUNT_PAGES.items():
        accounts.open(who, path, *forms)
        album.take(f"account-{name}")
    t.note(f"{album.count} pictures in {album.directory}")
