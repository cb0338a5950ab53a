"""The catalog's pages for everybody: axe finds nothing in either colour scheme, nothing runs out of a narrow window, and the keyboard
alone is enough."""
import json

import axe
from browser import Browser
from catalog import Catalog
from catalog_gallery import ACCOUNT_PAGES, PAGES, AccountGallery, gallery, k3, manifests, publish
from harness import check, config_map, contains, equal, test
from test_catalog_pages import STUMBLES

# 640: a window of 1280 at a zoom of 200 %. 320: at 400 %, which WCAG 2 asks for (1.4.10, Reflow).
WIDTHS = (1280, 640, 320)
TOO_WIDE = """document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] :
  ['the page', ...[...document.querySelectorAll('body *')].filter((element) => !element.parentElement.closest('.wide, pre') &&
    Math.max(element.getBoundingClientRect().right, element.getBoundingClientRect().left + element.scrollWidth) > innerWidth)
    .map((element) => element.outerHTML.slice(0, 100))]"""

# Tables that become cards in a narrow window, and have to be scrolled sideways all the same.
SCROLLED_CARDS = """[...document.querySelectorAll('.cards')].map((table) => table.parentElement)
  .filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.getAttribute('aria-labelledby'))"""

# axe lets it pass, but a screen reader says nothing when the focus comes there.
NAMELESS = """[...document.querySelectorAll('div[tabindex="0"]')].filter((element) => !element.getAttribute('role') ||
  !(element.ariaLabel || document.getElementById(element.getAttribute('aria-labelledby'))?.textContent))
  .map((element) => element.outerHTML.slice(0, 100))"""

# Each has one fault, of the page at /packages/forms/1.0.0/inputs; and the rule that must say so.
FAULTS = {
    "label": "document.querySelector('label').remove()",
    "color-contrast": "document.querySelector('h1').style.color = matchMedia('(prefers-color-scheme: dark)').matches ? '#333' : '#ccc'",
    "html-has-lang": "document.documentElement.removeAttribute('lang')",
    "heading-order": "document.querySelector('h2').outerHTML = '<h5>values</h5>'",
    "landmark-one-main": "document.querySelector('main').outerHTML = '<div>' + document.querySelector('main').innerHTML + '</div>'",
}


def set_width(browser, width):
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)


def preview(browser, url, begins):
    browser.open(url)
    browser.wait("!document.getElementById('rendered').hidden")
    browser.value("document.getElementById('rendered-start').click()")
    browser.wait(f"document.getElementById('rendered-status').textContent.startsWith({begins!r})")


def judge(browser, what):
    browser.value("for (const element of document.querySelectorAll('details')) element.open = true")
    equal(axe.violations(browser), [], what)
    equal(browser.value(NAMELESS), [], what)
    for width in WIDTHS:
        set_width(browser, width)
        equal(browser.value(TOO_WIDE), [], f"{what}, {width} pixels wide")
    equal(axe.violations(browser), [], f"{what}, {WIDTHS[-1]} pixels wide")
    equal(browser.value(SCROLLED_CARDS), [], f"{what}, {WIDTHS[-1]} pixels wide")
    set_width(browser, WIDTHS[0])


@test(waits=True)
def a_catalogs_pages_have_no_fault_that_axe_finds(t):
    axe.source()
    browser = Browser(t)
    catalog, server = gallery(t)
    judged = 0
    for scheme in ("light", "dark"):
        browser.emulate(prefers_color_scheme=scheme)
        set_width(browser, WIDTHS[0])
        for name, path in PAGES.items():
            browser.open(catalog.url + path)
            judge(browser, f"{name}, {scheme}")
            judged += 1
        for name, path, begins in (("preview", "?host=a.example", "Rendered"), ("preview-error", "?replicas=x", "Not rendered")):
            preview(browser, f"{catalog.url}/packages/web/1.2.0-rc.1/inputs{path}", begins)
            judge(browser, f"{name}, {scheme}")
            judged += 1
        # It finds what it is for.
        for rule, fault in FAULTS.items():
            browser.open(catalog.url + "/packages/forms/1.0.0/inputs")
            browser.value(fault)
            found = axe.violations(browser)
            check(any(each.startswith(f"{rule} ") for each in found), rule, "isn't among", found)
        browser.open(catalog.url + "/search")
        browser.value("document.querySelector('main').insertAdjacentHTML('beforeend', '<p>' + 'wide'.repeat(500) + '</p>');"
                      "document.querySelector('main').style.overflowWrap = 'normal'")
        check(browser.value(TOO_WIDE), "what is too wide isn't seen")
        check(browser.value("window.broken") is None, "a package's text was run")
    # Too many requests are answered with a page, too.
    catalog.stop(server)
    catalog.serve("--poll-interval", "1h", "--reads-per-second", "1")

    def refused():
        while catalog.ask("GET", "/healthz")[0] != 429:
            pass
        browser.open(catalog.url + "/submit")
        return "Too many requests" in browser.value("document.body.innerText")

    t.kube.wait("a browser asks too often", refused)
    contains(browser.value("document.body.innerText"), "load the page again")
    equal(axe.violations(browser), [], "too many requests")
    t.note(f"{judged} pages without a violation")


@test(waits=True)
def the_account_pages_of_a_catalog_have_no_fault_that_axe_finds(t):
    axe.source()
    browser = Browser(t)
    accounts = AccountGallery(t, browser)
    for scheme in ("light", "dark"):
        browser.emulate(prefers_color_scheme=scheme)
        set_width(browser, WIDTHS[0])
        for name, (heading, who, path, *forms) in ACCOUNT_PAGES.items():
            accounts.open(who, path, *forms)
            equal(browser.value("document.querySelector('h1').textContent"), heading, name)
            equal(browser.value(STUMBLES), [], name)
            judge(browser, f"{name}, {scheme}")
    # It finds what it is for.
    set_width(browser, WIDTHS[-1])
    accounts.open("root", "/admin/audit")
    browser.value("document.querySelector('.cards').classList.remove('stacked', 'cards'); document.querySelector('table').classList.add('cards')")
    browser.value("document.querySelector('.cards').style.minWidth = '40rem'")
    equal(browser.value(SCROLLED_CARDS), ["changes"])
    set_width(browser, WIDTHS[0])
    accounts.open("ann", "/account")
    browser.value("document.querySelector('#sessions + div').removeAttribute('aria-labelledby')")
    check(browser.value(NAMELESS), "a table that gets the focus and has no name isn't seen")
    browser.value("document.querySelector('form[action=\"/account/tokens\"] [name=label]').previousSibling.remove()")
    found = axe.violations(browser)
    check(any(each.startswith("label ") for each in found), "a field without a label isn't among", found)
    check(browser.value("window.broken") is None, "what somebody wrote was run")
    t.note(f"{2 * len(ACCOUNT_PAGES)} pages without a violation")


ACTIVE = "document.activeElement"
# What the keyboard leads to, in the order of the page.
STOPS = """[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
  .filter((element) => element.checkVisibility())"""
# A person sees where they are: there is an outline, and it is in the window.
SEEN = """(() => {
  const box = document.activeElement.getBoundingClientRect(), style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && box.width > 0 && box.height > 0 &&
    box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
})()"""


def tab_to(browser, condition, most=60):
    """Presses Tab until `condition` is true of the element e that has the focus."""
    for _ in range(most):
        browser.press("Tab")
        check(browser.value(SEEN), "one doesn't see where one is:", browser.value(f"{ACTIVE}.outerHTML.slice(0, 200)"))
        if browser.value(f"((e) => Boolean({condition}))({ACTIVE})"):
            return
    raise AssertionError(f"Tab never led to {condition}")


def press_to_page(browser, path):
    """Enter, on what leads to that page."""
    browser.press("Enter")
    browser.wait(f"location.pathname + location.search === {path!r} && document.readyState === 'complete'")


@test(waits=True)
def a_catalog_is_used_by_the_keyboard_alone(t):
    browser = Browser(t)
    catalog = Catalog(t)
    catalog.serve("--poll-interval", "1h")
    token = catalog.account("ann")
    chart = {"values.yaml": "size: 3\n", "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
                                                             "data: {size: {{ .Values.size | quote }}}\n",
             "values.schema.json": json.dumps({"properties": {"size": {"type": "integer", "default": 3}, "mode": {"enum": ["a", "b"]}}})}
    publish(t, catalog, token, "web", {version: {"Chart.yaml": f"apiVersion: v2\nname: web\nversion: {version}\n", **chart}
                                       for version in ("1.0.0", "1.1.0")})
    publish(t, catalog, token, "endless", {"1.0.0": {**k3("endless", "1.0.0"), **manifests(config_map("a")),
                                                     "scripts/pre-install.py": "while True:\n    pass\n"}})
    for name, version in (("web", "1.1.0"), ("endless", "1.0.0")):
        t.kube.wait(f"{name} is there", lambda name=name, version=version: catalog.version(name, version))
    # Tab leads to everything, from top to bottom, and one always sees where one is.
    for path in ("/", "/search", "/packages/web", "/packages/web/1.1.0/inputs", "/packages/web/1.1.0/changes", "/submit", "/nothing"):
        browser.open(catalog.url + path)
        browser.wait("!document.getElementById('rendered')?.hidden")
        for number in range(browser.value(f"{STOPS}.length")):
            browser.press("Tab")
            check(browser.value(f"{ACTIVE} === {STOPS}[{number}]"), path, "number", number, browser.value(f"{ACTIVE}.outerHTML.slice(0, 200)"))
            check(browser.value(SEEN), path, "one doesn't see", browser.value(f"{ACTIVE}.outerHTML.slice(0, 200)"))
    # The skip link: past the header, to the content.
    browser.open(catalog.url + "/packages/web")
    tab_to(browser, "e.textContent === 'Skip to the content'", most=1)
    browser.press("Enter")
    browser.wait("location.hash === '#content'")
    tab_to(browser, "e.closest('main')", most=1)
    # From the search to a package, to its form, to its objects.
    browser.open(catalog.url + "/")
    tab_to(browser, "e.name === 'q'")
    browser.type("web")
    press_to_page(browser, "/search?q=web")
    tab_to(browser, "e.matches('a.found') && e.textContent === 'web'")
    press_to_page(browser, "/packages/web")
    tab_to(browser, "e.textContent === 'Fill them in'")
    press_to_page(browser, "/packages/web/1.1.0/inputs")
    tab_to(browser, "e.name === 'size'")
    browser.type("5")
    browser.wait("document.getElementById('preview').textContent.includes('size: 5')")
    tab_to(browser, "e.name === 'mode'", most=1)
    browser.press("ArrowDown")
    browser.wait("document.getElementById('preview').textContent.includes('mode: a')")
    tab_to(browser, "e.id === 'rendered-start'")
    browser.press("Enter")
    browser.wait("document.getElementById('rendered-status').textContent.startsWith('Rendered')", seconds=120)
    equal(browser.value(f"{ACTIVE}.id"), "rendered-start", "the focus after a preview")
    tab_to(browser, "e.getAttribute('aria-label') === 'The objects'", most=1)
    contains(browser.value(f"{ACTIVE}.textContent"), 'size: "5"')
    # Escape ends a preview; the focus stays where it can be started again.
    browser.open(catalog.url + "/packages/endless/1.0.0/inputs")
    browser.wait("!document.getElementById('rendered').hidden")
    tab_to(browser, "e.id === 'rendered-start'")
    browser.press("Enter")
    browser.wait("document.getElementById('rendered-status').textContent === 'Rendering…'", seconds=120)
    equal(browser.value(f"{ACTIVE}.id"), "rendered-stop")
    browser.press("Escape")
    equal(browser.value("document.getElementById('rendered-status').textContent"), "Stopped.")
    equal(browser.value(f"{ACTIVE}.id"), "rendered-start")
    # What is folded opens.
    browser.open(catalog.url + "/packages/web/1.1.0/changes")
    tab_to(browser, "e.matches('summary')")
    browser.press("Enter")
    browser.wait("document.querySelector('details').open")
    tab_to(browser, "e.textContent === '1.0.0'", most=1)
    # The outline is what is looked at above.
    browser.value(f"{ACTIVE}.style.outline = 'none'")
    check(not browser.value(SEEN), "a missing outline isn't seen")
