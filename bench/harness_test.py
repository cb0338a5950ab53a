#!/usr/bin/env python3
"""What can be wrong in the bench without a figure looking wrong: how requests are counted, ratios and targets are made."""

import contextlib
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import clients  # noqa: E402
import machine  # noqa: E402
import registries  # noqa: E402
import report  # noqa: E402
import workloads  # noqa: E402

# By its path: Python has a module of this name.
spec = importlib.util.spec_from_file_location("operator_bench", pathlib.Path(__file__).parent / "operator.py")
operator_bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(operator_bench)


def event(verb, resource="configmaps", name="cm-0", stage="ResponseComplete", query=""):
    return json.dumps({"stage": stage, "verb": verb, "objectRef": {"resource": resource, "name": name},
                       "requestURI": f"/api/v1/namespaces/ns/{resource}/{name}{query}"}) + "\n"


class AuditTest(unittest.TestCase):
    def setUp(self):
        self.file = tempfile.NamedTemporaryFile(mode="w+", suffix=".log")
        self.addCleanup(self.file.close)

    def append(self, text):
        self.file.write(text)
        self.file.flush()

    def test_counts_what_came_since_the_last_look(self):
        self.append(event("get"))
        audit = machine.Audit(self.file.name)
        self.append(event("list") + event("patch") + event("get"))
        self.assertEqual(audit.take(), {"requests": 3, "lists": 1, "writes": 1, "object_writes": 1})
        self.assertEqual(audit.take()["requests"], 0)

    def test_a_watch_is_one_request(self):
        audit = machine.Audit(self.file.name)
        self.append(event("watch", stage="ResponseStarted") + event("watch"))
        self.assertEqual(audit.take()["requests"], 1)

    def test_a_dry_run_writes_nothing(self):
        audit = machine.Audit(self.file.name)
        self.append(event("patch", query="?dryRun=All&fieldManager=x"))
        self.assertEqual(audit.take(), {"requests": 1, "lists": 0, "writes": 0, "object_writes": 0})

    def test_records_of_releases_are_no_objects(self):
        audit = machine.Audit(self.file.name)
        self.append(event("create", "secrets", "mistletoe.web.v1") + event("create", "secrets", "sh.helm.release.v1.web.v1") +
                    event("create", "secrets", "password"))
        counts = audit.take()
        self.assertEqual((counts["writes"], counts["object_writes"]), (3, 1))

    def test_half_a_line_waits_for_its_end(self):
        audit = machine.Audit(self.file.name)
        line = event("get")
        self.append(line[:20])
        self.assertEqual(audit.take()["requests"], 0)
        self.append(line[20:])
        self.assertEqual(audit.take()["requests"], 1)


class ReportTest(unittest.TestCase):
    def outcome(self, **seconds):
        rows = [{"what": "install", "client": client, "seconds": value, "cpu": 0.1, "mb": 20.0, "requests": 1, "server_share": 0.5}
                for client, value in seconds.items()]
        return {"commit": "abc", "cpu": "some", "cores": 2, "peers": ["helm v4"], "notes": [],
                "scenarios": [{"name": "1000", "rounds": 1, "rows": rows}]}

    def test_ratios_are_to_the_better_peer_and_never_to_the_one_that_prunes(self):
        outcome = self.outcome(**{"mistctl": 1.0, "helm": 5.0, "kubectl": 4.0, "kubectl applyset": 2.0})
        table = report.Table(outcome["scenarios"])
        self.assertAlmostEqual(table.ratio("1000", "install", report.PEERS), 0.25)
        self.assertAlmostEqual(table.ratio("1000", "install", ["helm"]), 0.2)

    def test_a_target_is_met_missed_or_not_measured(self):
        by_what = {each["what"]: each for each in report.targets(report.Table(self.outcome(mistctl=1.0, kubectl=4.0)["scenarios"]))}
        self.assertIs(by_what["1,000 ConfigMaps: install, of the best peer's time"]["met"], True)
        self.assertIs(by_what["… servers' share of the machine meanwhile"]["met"], False)
        self.assertIsNone(by_what["mix of 60, install and wait, of the time of helm --wait"]["met"])

    def test_only_the_part_between_the_markers_is_rewritten(self):
        outcome = self.outcome(mistctl=1.0, helm=5.0)
        outcome["targets"] = report.targets(report.Table(outcome["scenarios"]))
        with tempfile.TemporaryDirectory() as directory:
            document = pathlib.Path(directory) / "bench.md"
            document.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
            report.write(outcome, pathlib.Path(directory) / "out", document)
            text = document.read_text()
            self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
            self.assertNotIn("old", text)
            self.assertIn("| install | 1 / 1 / 0.100 / 20 | 5 / 1 / 0.100 / 20 |", text)
            self.assertEqual(json.loads((pathlib.Path(directory) / "out" / "latest.json").read_text()), outcome)


class WorkloadTest(unittest.TestCase):
    def test_the_mix_is_sixty_objects_and_a_change_is_one_of_them(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory)
            package, changed = (workloads.mix(path / str(each), "x", each) for each in (False, True))
            self.assertEqual(package.objects, 60)
            documents = [(each.directory / "all.yaml").read_text().split("---\n") for each in (package, changed)]
            self.assertEqual(sum(a != b for a, b in zip(*documents)), 1)

    def test_kubectl_deletes_definitions_last(self):
        with tempfile.TemporaryDirectory() as directory:
            package = workloads.mix(pathlib.Path(directory) / "mix", "x")
            command = list(map(str, clients.Kubectl("kubectl").commands("uninstall", "ns", package, package, "mix")))
            self.assertLess(command.index(str(package.file)), command.index(str(package.definitions)))


class RegistriesTest(unittest.TestCase):
    def setUp(self):
        self.args = types.SimpleNamespace(packages=200, megabytes=200, dependencies=100)
        self.measured = registries.Measured(None, None, 1)
        figures = {"cpu": 1.0, "mb": 10.0}
        for client, seconds in (("mistctl", 2.0), ("helm", 8.0), ("crane", 5.0)):
            self.measured.rows["push of 200 small packages"][client] = {**figures, "seconds": seconds, "requests": 1600}
        self.measured.rows["its digest"]["mistctl"] = {**figures, "seconds": 0.01, "requests": 1}
        self.measured.rows["push of one blob of 200 MB"].update(helm=None, mistctl={**figures, "seconds": 1.0, "requests": 8})

    def test_the_best_peer_counts(self):
        self.assertEqual(registries.targets(self.measured, self.args), [
            ("push of 200 small packages, of the best peer's time", 0.4, 0.5, True), ("its digest: requests", 1, 0, False)])

    def test_who_can_not_is_shown(self):
        text = registries.as_markdown(self.measured, self.args)
        self.assertIn("| push of one blob of 200 MB | 1.000 / 8 / 1.000 / 10 | can't | – |", text)
        self.assertIn("| its digest: requests | 1 | ≤ 0 | **no** |", text)

    def test_requests_are_lines_of_the_access_log(self):
        with tempfile.TemporaryDirectory() as directory:
            registry = registries.Registry.__new__(registries.Registry)
            registry.log = pathlib.Path(directory) / "log"
            registry.log.write_text('{"level":"info","msg":"listening"}\n127.0.0.1 - - [x] "GET /v2/ HTTP/1.1" 200 2\n'
                                    '127.0.0.1 - - [x] "PATCH /v2/a/blobs/uploads/1?_state=x HTTP/1.1" 202 0\n')
            self.assertEqual(registry.requests(), 2)


class OperatorTest(unittest.TestCase):
    OURS = {"version": "aaaaaaa", "commit": "aaaaaaa", "instances": 1000, "cores": 2, "rows": {"all ready, s": 5.0}}
    KRO = {"version": "v0.9.4", "commit": "bbbbbbb", "instances": 1000, "cores": 4, "rows": {"all ready, s": 100.0}}

    def test_each_client_has_its_own_commit_and_version(self):
        lines = operator_bench.tables({"mistletoe-operator": self.OURS, "kro, tuned": self.KRO}, 1000)
        self.assertIn("| 1,000 × 5: all ready, of tuned kro's time | 0.050 | ≤ 0.1 | yes |", lines)
        for line in ("| version | aaaaaaa | v0.9.4 |", "| measured at commit | aaaaaaa | bbbbbbb |", "| cores | 2 | 4 |"):
            self.assertIn(line, lines)

    def test_other_numbers_of_instances_have_no_targets(self):
        text = "\n".join(operator_bench.tables({"mistletoe-operator": self.OURS, "kro, tuned": self.KRO}, 50))
        self.assertIn("50 instances.", text)
        self.assertNotIn("target", text)

    def test_only_runs_of_as_many_instances_are_merged(self):
        with tempfile.TemporaryDirectory() as place:
            file = pathlib.Path(place) / "operator.json"
            self.assertEqual(operator_bench.measured_before(file, 1000), {})
            file.write_text(json.dumps({"clients": {"kro": self.KRO, "kro, tuned": {**self.KRO, "instances": 50}, "of before": {"all ready, s": 1}}}))
            self.assertEqual(operator_bench.measured_before(file, 1000), {"kro": self.KRO})

    def test_a_document_is_rewritten_only_with_all_clients(self):
        with tempfile.TemporaryDirectory() as place:
            document = pathlib.Path(place) / "bench.md"
            before = f"before\n{operator_bench.BEGIN}\nold\n{operator_bench.END}\nafter\n"
            document.write_text(before)
            clients = {"mistletoe-operator": self.OURS, "kro, tuned": self.KRO}
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
                operator_bench.write_document(document, clients, "new")
            self.assertEqual(document.read_text(), before)
            self.assertIn("no figures of kro yet", said.getvalue())
            operator_bench.write_document(document, {**clients, "kro": self.KRO}, "new")
            self.assertEqual(document.read_text(), before.replace("old", "new"))


if __name__ == "__main__":
    unittest.main()
