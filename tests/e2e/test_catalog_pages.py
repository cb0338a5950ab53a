"""The catalog's pages in a browser: what its script adds, and that nothing of a package runs there."""
import json

from browser import Browser
from catalog import Catalog, Repository
from harness import check, config_map, contains, equal, test

HOSTILE = "<img src=x onerror=\"window.broken = 1\"><script>window.broken = 1</script>"
SCHEMA = {"type": "object", "required": ["host"], "properties": {
    "host": {"type": "string", "description": HOSTILE},
    "size": {"type": "integer", "default": 3, "minimum": 1},
    "mode": {"enum": ["fast", "safe"]}}}


def catalog_with_packages(t):
    """Without a cluster: its versions wait for their tests."""
    catalog = Catalog(t)
    catalog.serve("--poll-interval", "1h")
    token = catalog.account("ann")
    for name, words in (("etcd", "A store of keys"), ("nginx", "A server"), ("ngircd", "A server of chats " + HOSTILE)):
        repository = Repository(t, name)
        repository.kube("1.0.0", config_map("a"), description=words)
        repository.tag("v1.0.0")
        catalog.link(token, name, repository.url)
    chart = Repository(t, "chart")
    chart.file("Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\ndescription: A server as a chart\n")
    chart.file("values.yaml", "size: 3\n")
    chart.file("values.schema.json", json.dumps(SCHEMA))
    chart.file("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    chart.tag("v1.0.0")
    catalog.link(token, "chart", chart.url)
    for name in ("etcd", "nginx", "ngircd", "chart"):
        t.kube.wait(f"{name} is there", lambda name=name: catalog.version(name, "1.0.0"))
    return catalog


@test(waits=True)
def a_catalogs_search_answers_while_one_types(t):
    catalog = catalog_with_packages(t)
    browser = Browser(t)
    browser.open(catalog.url + "/search")
    equal(browser.value("document.querySelectorAll('a.found').length"), 4)
    browser.value("document.querySelector('input[type=search]').focus()")
    browser.type("ng")
    browser.wait("document.getElementById('count').textContent === '2 packages'")
    equal(browser.value("[...document.querySelectorAll('a.found b')].map(e => e.textContent).sort().join()"), "nginx,ngircd")
    contains(browser.value("location.href"), "/search?q=ng")
    contains(browser.value("document.title"), "ng")
    equal(browser.value("document.activeElement.value"), "ng", "who types keeps the focus")
    # The arrow keys lead through what was found, Escape leads back.
    browser.press("ArrowDown")
    browser.press("ArrowDown")
    equal(browser.value("[...document.querySelectorAll('a.found')].indexOf(document.activeElement)"), 1)
    browser.press("Escape")
    equal(browser.value("document.activeElement.name"), "q")
    # A facet, which stays while other words are typed.
    browser.open(catalog.url + "/search?format=Helm%20chart")
    browser.value("document.querySelector('input[type=search]').focus()")
    browser.type("server")
    browser.wait("location.search === '?q=server&format=Helm+chart'")
    equal(browser.value("document.getElementById('count').textContent"), "1 package")
    browser.type("x")
    browser.wait("document.getElementById('count').textContent === '0 packages'")
    contains(browser.value("document.getElementById('results').textContent"), "No package fits")
    check(browser.value("window.broken") is None, "a package's text was run")


@test(waits=True)
def a_catalogs_form_shows_the_file_while_one_types(t):
    catalog = catalog_with_packages(t)
    browser = Browser(t)
    browser.open(catalog.url + "/packages/chart/1.0.0/inputs")
    contains(browser.value("document.getElementById('filled').textContent"), "still needed: host")
    browser.value("document.querySelector('[name=size]').focus()")
    browser.type("5")
    browser.wait("document.getElementById('preview').textContent.includes('size: 5')")
    browser.type("x")
    browser.wait("document.getElementById('preview').textContent.includes('must be a whole number')")
    equal(browser.value("document.activeElement.value"), "5x")
    browser.value("document.querySelector('[name=host]').focus()")
    browser.type(HOSTILE)
    browser.wait("document.getElementById('preview').textContent.includes('</script>')")
    check(browser.value("window.broken") is None, "what was typed was run")
    # The same without the script: the address has all of it.
    page = catalog.page("/packages/chart/1.0.0/inputs?size=5&mode=%22safe%22&host=a.example")
    contains(page, "host: a.example\nsize: 5\nmode: safe\n", "3 inputs set.")
