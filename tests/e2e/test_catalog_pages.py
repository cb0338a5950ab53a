"""The catalog's pages in a browser: what its script adds, and that nothing of a package runs there."""
import json

from browser import Browser
from catalog import Catalog, Repository
from harness import check, config_map, contains, equal, test, workload

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


@test(waits=True)
def a_catalogs_form_says_what_is_too_long_for_it(t):
    catalog = catalog_with_packages(t)
    browser = Browser(t)
    browser.open(catalog.url + "/packages/chart/1.0.0/inputs")
    browser.value("document.querySelector('[name=host]').value = 'x'.repeat(13000)")
    browser.value("document.querySelector('[name=host]').focus()")
    browser.type("y")
    browser.wait("document.getElementById('filled').textContent.includes('too long for this form')")
    browser.press("Enter")
    equal(browser.value("document.querySelector('[name=host]').value.length"), 13001, "what was typed is still there")
    check(browser.value("location.search") == "", "it led to another page")


@test(waits=True)
def a_catalogs_form_warns_and_says_when_its_version_is_gone(t):
    catalog = catalog_with_packages(t)
    browser = Browser(t)
    browser.open(catalog.url + "/packages/chart/1.0.0/inputs")
    contains(browser.value("document.getElementById('preview').textContent"), "has not been tested yet", "mistctl install chart")
    # Hidden while somebody fills the form in.
    moderator = catalog.account("mod", "moderator")
    equal(catalog.ask("PUT", "/api/v1/packages/chart/versions/1.0.0/hidden", {"reason": "it steals keys"}, moderator)[0], 204)
    browser.value("document.querySelector('[name=size]').focus()")
    browser.type("5")
    browser.wait("document.getElementById('filled').textContent.includes('it steals keys')")
    equal(browser.value("document.getElementById('preview').textContent"), "", "no command installs it now")


# What a reader of a screen, or one with weak eyes, would stumble over: a list of sentences.
STUMBLES = """(() => {
  const found = [];
  const words = (element) => element.outerHTML.slice(0, 80);
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) found.push(`two elements are ${id}`);
  for (const element of document.querySelectorAll('[aria-labelledby], [aria-describedby], label[for]'))
    for (const id of (element.getAttribute('aria-labelledby') ?? element.getAttribute('aria-describedby') ?? element.htmlFor).split(' '))
      if (!ids.includes(id)) found.push(`${id} isn't there: ${words(element)}`);
  for (const element of document.querySelectorAll('input:not([type=hidden]), select, textarea'))
    if (!element.labels?.length && !element.ariaLabel) found.push(`no label: ${words(element)}`);
  for (const element of document.querySelectorAll('a, button, summary'))
    if (!element.textContent.trim() && !element.ariaLabel) found.push(`no words: ${words(element)}`);
  for (const element of document.querySelectorAll('img')) if (!element.alt) found.push(`no alt: ${words(element)}`);
  let level = 0;
  for (const element of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    const now = Number(element.tagName[1]);
    if (now > level + 1) found.push(`h${now} below h${level}: ${words(element)}`);
    level = now;
  }
  if (document.querySelectorAll('h1').length !== 1) found.push('not one h1');
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) found.push('the page is wider than the window');
  // Contrast, as WCAG 2 counts it.
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = numbers(color).slice(0, 3).map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      if (e.matches('g.node')) return getComputedStyle(e.querySelector('rect')).fill;
      const color = numbers(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return getComputedStyle(e).backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest('title, desc, option')) continue;
    const style = getComputedStyle(element);
    const front = light(element instanceof SVGElement ? style.fill : style.color), back = light(behind(element));
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(1)}: ${words(element)}`);
  }
  return found;
})()"""


@test(waits=True)
def a_catalogs_pages_can_be_read_by_everybody(t):
    catalog = Catalog(t)
    catalog.serve("--kubeconfig", t.kubeconfig, "--poll-interval", "1h")
    token = catalog.account("ann")
    repository = Repository(t, "shop")
    web = workload("Deployment", "web")
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    repository.kube("1.0.0", web, config_map("settings"), description="A shop", values={"size": 3, "mode": "fast", "debug": False})
    repository.file("README.md", "# Shop\n\nIt *sells*.\n\n## More\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    repository.tag("v1.0.0")
    repository.kube("1.1.0", web, config_map("settings", {"a": "b"}), description="A shop", values={"size": 4, "mode": "fast"})
    repository.tag("v1.1.0")
    catalog.link(token, "shop", repository.url)
    for version in ("1.0.0", "1.1.0"):
        catalog.wait_tested("shop", version)
    browser = Browser(t)
    for scheme, width in (("light", 1200), ("dark", 1200), ("dark", 360)):
        browser.emulate(prefers_color_scheme=scheme)
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        for path in ("/", "/search", "/search?q=shop&format=Kube", "/packages/shop", "/packages/shop/1.0.0/inputs?size=x&mode=slow",
                     "/packages/shop/1.0.0/test", "/packages/shop/1.1.0/changes", "/submit", "/nothing"):
            browser.open(catalog.url + path)
            equal(browser.value(STUMBLES), [], f"{path}, {scheme}, {width} pixels wide")
    browser.open(catalog.url + "/packages/shop")
    images = [node["name"]["value"] for node in browser.call("Accessibility.getFullAXTree")["nodes"]
              if node.get("role", {}).get("value") == "image"]
    check("Objects and their order" in images, images)
    # The checks above find what they are for.
    browser.value("document.querySelector('main').insertAdjacentHTML('beforeend', '<input><h1>a</h1><h6>b</h6><p id=content>c</p>"
                  "<a href=/></a>')")
    stumbles = " ".join(browser.value(STUMBLES))
    contains(stumbles, "two elements are content", "no label", "no words", "h6 below h1", "not one h1")
