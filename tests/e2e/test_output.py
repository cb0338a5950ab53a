"""What a person sees on a terminal, a log file holds, and a program reads."""
import json
import re
import time

from harness import check, config_map, contains, equal, test, workload
from terminal import Screen, Terminal


def object_lines(err):
    return [line for line in err.splitlines() if not line.startswith("… ")]


def events_of(err):
    return [json.loads(line) for line in err.splitlines()]


def on_terminal(t, *arguments, rows=24, columns=100, **environment):
    return Terminal([t.mistctl, *arguments], t.environment(TERM="xterm", **environment), rows, columns, t.dir)


@test
def a_pipe_gets_one_line_for_each_change(t):
    maps = [config_map(f"c{i}") for i in range(30)]
    installed = t.run("install", "shop", "-p", t.package("p", *maps, workload("Deployment", "web")), "--wait")
    lines = object_lines(installed.err)
    equal(len(lines), len(set(lines)), f"no line twice in {installed}")
    equal({line for line in lines if line.startswith("ConfigMap")},
          {f"ConfigMap {t.ns}/c{i}: created" for i in range(30)}, "config maps")
    web = [line.split(": ", 1)[1] for line in lines if line.startswith("Deployment")]
    equal((web[0], web[-1]), ("created", "ready"), "the deployment")
    check(all(line.startswith("waiting (") for line in web[1:-1]), web)
    check("\x1b" not in installed.err + installed.out, "no escape sequences")
    contains(installed.out, "shop is installed at revision 0", "31 created in ")
    maps[7] = config_map("c7", {"key": "other"})
    upgraded = t.run("upgrade", "shop", "-p", t.package("p", *maps, workload("Deployment", "web")))
    equal(object_lines(upgraded.err), [f"ConfigMap {t.ns}/c7: configured"], "what is unchanged is silent")
    equal(t.run("upgrade", "shop", "-q").err, "", "quiet")


@test
def a_program_reads_events_and_the_result(t):
    package = t.package("p", config_map("a"), workload("Deployment", "web"))
    installed = t.run("install", "shop", "-p", package, "--wait", "--events", "jsonl", "-o", "json")
    equal(installed.json["revision"], 0)
    events = events_of(installed.err)
    kinds = [event["event"] for event in events]
    equal((kinds.count("plan"), kinds.count("finished"), kinds[-1]), (1, 1, "finished"))
    equal((events[-1]["exitCode"], events[-1]["error"]), (0, None))
    plan = next(event for event in events if event["event"] == "plan")
    equal((plan["operation"], plan["namespace"], plan["release"], plan["revision"]), ("install", t.ns, "shop", 0))
    equal({o["object"]: o["action"] for o in plan["objects"]},
          {f"ConfigMap {t.ns}/a": "create", f"Deployment {t.ns}/web": "create"})
    states = [event["state"] for event in events if event.get("object") == f"Deployment {t.ns}/web"]
    equal((states[0], states[-1]), ("created", "ready"), "states of the deployment")
    check(kinds.index("plan") < kinds.index("object"), "the plan comes before what it says happens")
    equal(sorted(event["time"] for event in events), [event["time"] for event in events], "in order")
    refused = t.run("install", "shop", "-p", package, "--events=jsonl", code=1)
    last = events_of(refused.err)[-1]
    equal((last["event"], last["exitCode"], last["error"]["kind"]), ("finished", 1, "Conflict"))
    contains(last["error"]["hint"], "mistctl upgrade shop")


@test
def a_tree_fits_the_terminal(t):
    rows, columns = 12, 70
    package = t.package("p", *[config_map(f"c{i:02}") for i in range(40)], workload("Deployment", "web"),
                        workload("Deployment", "never", "never-ready"))
    terminal = on_terminal(t, "install", "shop", "-p", package, "--wait", "--timeout", "5s", rows=rows, columns=columns)
    equal(terminal.finish(), 1, "exit code")
    # Each frame is one write, and reads of a terminal may split it: what is drawn is looked at as a whole.
    screen = Screen(columns)
    screen.feed(terminal.text())
    text = screen.text()
    contains(text, f"✓ ConfigMap {t.ns}  40 created\n", f"  Deployment {t.ns}  1 ready\n", "…   never  waiting: ",
             "error: ", "0 of 1")
    check("·" not in text and "⠋" not in text, "no picture is left behind:\n", text)
    tree = text[:text.index("error: ")].splitlines()
    check(len(tree) < rows, "the picture has more lines than the screen:\n", text)
    check(all(len(line) < columns for line in tree), "a line is too wide:\n", text)
    contains(terminal.text(), "\x1b[32m", "install ", " of 42 objects")


@test
def a_question_stays_until_it_is_answered(t):
    t.run("install", "shop", "-p", t.package("p", config_map("a")))
    terminal = on_terminal(t, "uninstall", "shop")
    terminal.wait_for("[y/N] ")
    time.sleep(0.5)  # some frames of what would be drawn over it
    terminal.type("n\n")
    equal(terminal.finish(), 1, "exit code")
    screen = Screen(100)
    screen.feed(terminal.text())
    contains(screen.text(), f"Delete 1 object of release shop in namespace {t.ns}? [y/N] n\n",
             "error: nothing was deleted, because the answer was no")
    check(t.kube.get("ConfigMap", t.ns, "a"), "it stays")


@test
def a_tree_survives_a_resize(t):
    package = t.package("p", config_map("a"), workload("Deployment", "never", "never-ready"))
    terminal = on_terminal(t, "install", "shop", "-p", package, "--wait", "--timeout", "8s", NO_COLOR="1", columns=60)
    terminal.wait_for("waiting: 0 of 1")
    terminal.resize(40, 160)
    equal(terminal.finish(), 1, "exit code")
    screen = Screen(160)
    screen.feed(terminal.text())
    contains(screen.text(), f"✓ ConfigMap {t.ns}/a  created\n")
    equal(screen.text().count("… Deployment"), 1, "rows of it in the tree:\n" + screen.text())
    check(not re.search(r"\x1b\[[0-9;]*m", terminal.text()), "no colors")
    plain = on_terminal(t, "upgrade", "shop", "-p", t.package("p", config_map("a", {"key": "new"})), "--events", "lines",
                        "--color", "never")
    equal(plain.finish(), 0, "exit code")
    contains(plain.text(), f"ConfigMap {t.ns}/a: configured\r\n")
    check("\x1b" not in plain.text(), "no escape sequences")


@test
def a_plan_is_explained(t):
    package = t.package("p", config_map("a"), {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {
        "containers": [{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": "a"}}]}]}})
    planned = t.run("install", "shop", "-p", package, "--dry-run", "--explain")
    contains(planned.out, f"plan: install {t.ns}/shop, revision 0\n", f"  create Pod {t.ns}/x: ",
             f"    after ConfigMap {t.ns}/a")
    done = t.run("install", "shop", "-p", package, "--explain")
    contains(done.err, f"  create Pod {t.ns}/x: ")
    check(done.err.index("plan: ") < done.err.index("created"), "the reasons come first:\n", done)
