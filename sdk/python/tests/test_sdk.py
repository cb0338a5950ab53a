"""The SDK without a host: python3 -m unittest discover tests, in sdk/python."""
import enum
import json
import math
import pathlib
import sys
import unittest
from dataclasses import dataclass
from typing import Any, Literal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import mistletoe  # noqa: E402
from mistletoe import (Called, Context, Error, HostError, Output, call, lookup, lookup_all, render, schema_of, secret,  # noqa: E402
                       to_yaml, value)
from mistletoe._errors import reason  # noqa: E402
from mistletoe._output import result_document  # noqa: E402


class Mode(enum.Enum):
    FAST = "fast"
    SAFE = "safe"


@dataclass
class Port:
    name: str
    number: int = value(minimum=1)


@dataclass(kw_only=True)
class Inputs:
    name: str = value(doc="The name of the release")
    replicas: int = value(2, maximum=100)
    kind: Literal["a", "b"] = value("a")
    mode: Mode = value(Mode.SAFE.value)
    ports: list[Port] = value([])
    labels: dict[str, str] | None = value(None)
    must: bool
    ratio: float = 0.5
    values: Any = None
    cluster_name: str = value("x", name="cluster-name")


def document(**data):
    return {"kind": "MistInput", "data": data, "release": {"name": "shop", "namespace": "prod"},
            "capabilities": {"kubeVersion": "v1.36.0", "apiVersions": ["v1"]}}


class Schemas(unittest.TestCase):
    def test_come_from_the_class(self):
        self.assertEqual(schema_of(Inputs), {
            "type": "object", "additionalProperties": False, "required": ["must"], "properties": {
                "name": {"type": "string", "description": "The name of the release"},
                "replicas": {"type": "integer", "default": 2, "maximum": 100},
                "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "mode": {"type": "string", "enum": ["fast", "safe"], "default": "safe"},
                "ports": {"type": "array", "default": [], "items": {
                    "type": "object", "additionalProperties": False, "required": ["name", "number"],
                    "properties": {"name": {"type": "string"}, "number": {"type": "integer", "minimum": 1}}}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "must": {"type": "boolean"}, "ratio": {"type": "number", "default": 0.5}, "values": {},
                "cluster-name": {"type": "string", "default": "x"}}})

    def test_refuse_types_that_have_none(self):
        @dataclass
        class Wrong:
            when: complex
        with self.assertRaisesRegex(TypeError, "when is of .*complex"):
            schema_of(Wrong)
        with self.assertRaisesRegex(TypeError, "value.. has no minmum"):
            value(1, minmum=2)


class Rendering(unittest.TestCase):
    def test_reads_inputs_into_the_class(self):
        seen = []

        def generate(inputs: Inputs, context: Context):
            seen.append((inputs, context))
            return Output().with_message(f"{inputs.name} in {context.release.namespace}")
        output = render(generate, document(name="shop", must=True, ports=[{"name": "http", "number": 80.0}], mode="fast", ratio=1,
                                           **{"cluster-name": "y"}))
        inputs, context = seen[0]
        self.assertEqual(output.message, "shop in prod")
        self.assertEqual((inputs.ports, inputs.mode, inputs.ratio, inputs.cluster_name, inputs.replicas),
                         ([Port("http", 80)], Mode.FAST, 1, "y", 2))
        self.assertEqual((context.capabilities.kube_version, context.release.revision), ("v1.36.0", None))

    def test_names_the_input_that_does_not_fit(self):
        def generate(inputs: Inputs):
            return Output()
        for data, words in (
                ({"must": True}, "`name` doesn't fit this package: it is missing"),
                ({"name": "a", "must": 1}, "`must` doesn't fit this package: it is an integer, not a boolean"),
                ({"name": "a", "must": True, "replicas": True}, "`replicas`"),
                ({"name": "a", "must": True, "ports": [{"name": "x", "number": "many"}]}, "`ports[0].number`"),
                ({"name": "a", "must": True, "kind": "c"}, "`kind` doesn't fit this package: it is 'c', not one of 'a', 'b'"),
                ({"name": "a", "must": True, "mode": "slow"}, "`mode`")):
            with self.assertRaises(Error) as caught:
                render(generate, document(**data))
            self.assertIn(words, str(caught.exception))

    def test_takes_functions_without_types(self):
        output = render(lambda inputs: Output().with_file("a", inputs["name"]), json.dumps(document(name="shop")))
        self.assertEqual(dict(output.files), {"a": "shop"})

    def test_refuses_what_is_no_output(self):
        for result, words in ((None, "generate gave nothing"), ({}, "generate gave a dict")):
            with self.assertRaisesRegex(Error, words):
                render(lambda inputs: result, document())
        with self.assertRaisesRegex(Error, "expected `MistInput`"):
            render(lambda inputs: Output(), {"kind": "List"})


class Outputs(unittest.TestCase):
    def test_keep_the_order_of_files(self):
        output = Output().with_file("b", "\u2028").with_file("a", "1").with_file("b", "2").with_message("m")
        self.assertEqual(result_document(output.data()), '{"apiVersion": "mistletoe.dev/v1", "kind": "MistResult", "data": '
                         '{"result": "Ok", "message": "m", "files": {"b": "2", "a": "1"}}}\n')

    def test_declare_order(self):
        output = Output().after("Deployment/web", "Secret/web").before("Job/a", "Deployment/web")
        self.assertEqual(output.files["mist-order.yaml"], "apiVersion: mistletoe.dev/v1\nkind: MistOrder\nedges:\n- after: Secret/web\n"
                         "  object: Deployment/web\n- before: Deployment/web\n  object: Job/a\n")

    def test_take_files_of_called_packages(self):
        output = Output().with_files_from("db", Called({"b.yaml": "2", "a.yaml": "1"}))
        self.assertEqual(list(output.files), ["db/a.yaml", "db/b.yaml"])

    def test_export_a_text_as_its_quotation(self):
        self.assertEqual(Output().with_exports("on \u0085\"").data()["exports"], '"on \\u0085\\""')
        self.assertEqual(Output().with_exports(["on"]).data()["exports"], ["on"])

    def test_know_where_each_file_was_set(self):
        line = sys._getframe().f_lineno
        output = (Output()
                  .with_file("a", "1")
                  .with_object("b", {"x": 1})
                  .with_files({"c": "2"})
                  .after("A/a", "B/b"))
        self.assertEqual(output.places, {path: (__file__, line + after) for path, after in
                                         (("a", 2), ("b", 3), ("c", 4), ("mist-order.yaml", 5))})

    def test_name_what_cannot_be_written(self):
        for thing, words in (({"a": {"b": [object()]}}, r"can't write the file x.yaml: a.b\[0\] is of object"),
                             ({"a": {1: 2}}, "a has the key 1"), ({"a": float("nan")}, "a is NaN"), ({"a": [-math.inf]}, r"a\[0\] is -Infinity")):
            with self.assertRaisesRegex(Error, words):
                Output().with_object("x.yaml", thing)
        with self.assertRaisesRegex(Error, "can't write the exports: the value is of set"):
            Output().with_exports({1}).data()
        with self.assertRaisesRegex(Error, "can't write the exports: size is Infinity, which neither JSON nor YAML has"):
            Output().with_exports({"size": math.inf}).data()
        with self.assertRaisesRegex(Error, "can't write the input of db: size is NaN"):
            call("db", {"size": math.nan})


class Yaml(unittest.TestCase):
    def test_is_that_of_the_other_sdks(self):
        @dataclass
        class Object:
            zone: int
            kind: str
            area: list
            missing: None = None
        for want, thing in (("kind: K\nzone: 1\narea: []\n", Object(1, "K", [])),
                            ("a: |\n  x\n\n   y\n", {"a": "x\n\n y\n"}),
                            ('- - 1\n  - null\n- b: "yes"\n  c: 250m\n', [[1, None], {"c": "250m", "b": "yes"}]),
                            ('"\\u0085<&>"\n', "\u0085<&>"), ("{}\n", {}), ("true\n", True), ("1e+300\n", 1e300),
                            ('a: " x\\ny"\n', {"a": " x\ny"}), ("a: |+\n  x\n  y\n\n\n", {"a": "x\ny\n\n\n"})):
            self.assertEqual(to_yaml(thing), want)

    def test_has_the_numbers_of_the_other_sdks(self):
        for number, text in ((100000.0, "100000"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (-1.5e300, "-1.5e+300"),
                             (123456789012345680000.0, "123456789012345680000"), (0.1, "0.1"), (-0.00001, "-0.00001"), (1e-7, "1e-7"),
                             (1234.5, "1234.5"), (0.0, "0"), (-0.0, "0")):
            self.assertEqual(to_yaml(number), text + "\n")


class Host(unittest.TestCase):
    def test_secrets_have_stand_ins(self):
        self.assertEqual(len(secret.password("db")), 24)
        self.assertNotEqual(secret.password("db"), secret.password("api"))
        self.assertEqual(secret.password("pin", length=4, alphabet="01"), secret.password("pin", length=4, alphabet="01"))
        self.assertTrue(secret.base64("salt", 16).endswith("=="))
        self.assertRegex(secret.uuid("id"), "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$")
        with self.assertRaisesRegex(HostError, "no host here"):
            secret.ed25519("key")
        with self.assertRaisesRegex(HostError, "no host here"):
            call("db", {})

    def test_has_no_objects_without_a_cluster(self):
        self.assertIsNone(lookup("v1", "ConfigMap", "shared", "settings"))
        self.assertEqual(lookup_all("v1", "ConfigMap", ""), [])
        with self.assertRaisesRegex(Error, "lookup of a ConfigMap needs a name; lookup_all gives all of them"):
            lookup("v1", "ConfigMap", "shared", "")

    def test_answers_are_read(self):
        import mistletoe._host as host
        kept = host._exchange
        try:
            for answer, words in ((b"{", "can't be read"), (b"{}", "gave no answer"), (b"[]", "gave no answer"),
                                  (b'{"error": {"message": "no"}}', "^no$"), (b'{"error": {"message": "no", "hint": "try x"}}', r"^no \(try x\)$")):
                host._exchange = lambda text, answer=answer: answer
                with self.assertRaisesRegex(HostError, words):
                    host.ask("log")
        finally:
            host._exchange = kept


class Reasons(unittest.TestCase):
    def test_are_chained(self):
        try:
            try:
                raise KeyError("port")
            except KeyError as error:
                raise Error("can't make the Service") from error
        except Error as error:
            self.assertEqual(reason(error), "can't make the Service: KeyError: 'port'")
        self.assertEqual(reason(ValueError()), "ValueError")


if __name__ == "__main__":
    print(mistletoe.__file__, file=sys.stderr)
    unittest.main()
