"""engines/python/lib with this machine's Python: python3 -m unittest discover tests, in engines/python. What needs the guest is in
tests/cli/engines/python.txt."""
import importlib.util
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE.parents[2] / "sdk/python")]
import _certificates  # noqa: E402
import _lines  # noqa: E402
import _values  # noqa: E402
import kpm  # noqa: E402
from mistletoe import Error, secret  # noqa: E402

OPENSSL = shutil.which("openssl")


def document(**data):
    return {"data": data, "release": {"name": "shop", "namespace": "prod"}}


class Values(unittest.TestCase):
    def test_are_resolved_as_go_yaml_does(self):
        # The same table as in engines/rust/guest/src/yaml/resolve.rs.
        for text, value in (("yes", True), ("Off", False), ("~", None), ("10", 10), ("010", 8), ("0o10", 8), ("0x1F", 31), ("-0b11", -3),
                            ("1_000", 1000), ("18446744073709551615", 2**64 - 1), ("18446744073709551616", 18446744073709551616.0),
                            ("-9223372036854775808", -2**63), ("1.", 1.0), (".5", 0.5), ("1e3", 1000.0), ("08", 8.0), ("yEs", "yEs"),
                            ("1.2.3", "1.2.3"), ("-", "-"), ("+-1", "+-1"), ("0x", "0x"), ("0x-1", "0x-1"), ("12:30", "12:30"),
                            ("2020-01-01", "2020-01-01"), ("1e", "1e"), ("0", 0), ("-0", 0), ("=", "=")):
            resolved = _values.resolve(text)
            self.assertEqual((type(resolved), resolved), (type(value), value), text)

    def test_lie_over_one_another(self):
        self.assertEqual(_values.overlay({"a": {"b": 1, "c": 2}, "d": [1], "e": 1}, {"a": {"b": None, "x": {"y": None}}, "d": [], "e": {"f": 2}}),
                         {"a": {"c": 2, "x": {}}, "d": [], "e": {"f": 2}})

    def test_of_defaults_may_be_null(self):
        directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, directory)
        # JSON is YAML, and needs no PyYAML on this machine.
        self.addCleanup(setattr, _values, "read", _values.read)
        _values.read = json.loads
        self.assertEqual(_values.defaults(directory), {})
        (directory / "values.yaml").write_text('{"a": null, "b": {"c": null}}')
        self.assertEqual(_values.defaults(directory), {"a": None, "b": {"c": None}})
        (directory / "K3.yaml").write_text('{"values": {"a": 1, "b": {"d": null}, "e": null}}')
        self.assertEqual(_values.defaults(directory), {"b": {"d": None}, "e": None}, "over others, null removes")


class Lines(unittest.TestCase):
    def printed(self):
        raw = io.BytesIO()
        return raw, _lines.Printed(raw, lambda file: "main.py" if file == __file__ else None)

    def test_are_those_of_what_printed_them(self):
        raw, stream = self.printed()
        first = sys._getframe().f_lineno + 1
        print("a: 1", file=stream)
        print("  b:\n",
              "c", file=stream)
        stream.write("d")
        json.dump({"e": 1}, stream)
        stream.writelines(["\n", "f\n"])
        text = raw.getvalue().decode()
        self.assertEqual(text, 'a: 1\n  b:\n c\nd{"e": 1}\nf\n')
        self.assertEqual(stream.origins(text), {"file": "main.py", "lines": [first + line for line in (0, 1, 1, 3, 5, 5)]})

    def test_of_what_went_around_the_stream_are_not_known(self):
        raw, stream = self.printed()
        print("a: 1", file=stream)
        stream.buffer.write(b"b: 2\n")
        self.assertEqual(stream.origins(raw.getvalue().decode()), [])
        with self.assertRaises(TypeError):
            stream.write(1)

    def test_may_be_of_several_files(self):
        self.assertEqual(_lines.origins_of([("a.py", 3), None, ("b.py", 5)]),
                         [{"file": "a.py", "lines": [3, 0, 0]}, {"file": "b.py", "lines": [0, 0, 5]}])


class Questions(unittest.TestCase):
    def start(self, interactive=False, **data):
        kpm.start(document(**data), interactive)

    def test_are_answered_by_values(self):
        self.start(domain="example.org", tls={"days": 3}, ready=False)
        self.assertEqual(kpm.ask("domain", default="x"), "example.org")
        self.assertEqual(kpm.ask("tls.days", type=int), 3)
        self.assertEqual(kpm.ask("tls.days", type=float), 3.0)
        self.assertIs(kpm.confirm("ready"), False)
        self.assertEqual(kpm.answers(), (["domain", "tls.days", "ready"], []))
        self.assertEqual(kpm.release.namespace, "prod")

    def test_take_the_default_where_nobody_is(self):
        self.start()
        self.assertEqual(kpm.ask("domain", default="x"), "x")
        self.assertEqual(kpm.answers(), ([], []))

    def test_end_the_script_without_an_answer(self):
        self.start(domain=None)
        with self.assertRaises(kpm.Unanswered) as caught:
            kpm.ask("domain", "Which?", choices=["a", "b"])
        with self.assertRaises(kpm.Unanswered):
            kpm.ask("later")
        self.assertEqual(kpm.open_question(),
                         {"name": "domain", "prompt": "Which?", "type": "text", "secret": False, "choices": ["a", "b"]})
        self.assertNotIsInstance(caught.exception, Exception, "a script's `except Exception` would swallow it")

    def test_with_a_default_end_it_where_a_person_is(self):
        self.start(interactive=True)
        with self.assertRaises(kpm.Unanswered):
            kpm.ask("count", default=2, type=int)
        self.assertEqual(kpm.open_question()["default"], 2)

    def test_with_a_secret_default_say_that_there_is_one(self):
        self.start(interactive=True, port=1)
        with self.assertRaises(kpm.Unanswered):
            kpm.ask("admin.password", default="drawn", secret=True)
        self.assertEqual(kpm.open_question(), {"name": "admin.password", "prompt": "admin.password", "type": "text", "secret": True,
                                               "hasDefault": True})
        self.start(interactive=True, port=1, admin={"password": {"kpm.take-default": True}})
        self.assertEqual(kpm.values, {"port": 1}, "the script sees what it will see in the end")
        self.assertEqual(kpm.ask("admin.password", default="drawn", secret=True), "drawn")
        self.assertEqual(kpm.answers(), ([], ["admin.password"]), "it isn't kept as an answer")
        with self.assertRaises(kpm.Unanswered):
            kpm.ask("admin.user", default="root")

    def test_check_answers(self):
        self.start(port="many", yes=1, kind="c", pin="12", key=7)
        for asked, words in ((lambda: kpm.ask("port", type=int), "port has to be an integer, and 'many' is none"),
                             (lambda: kpm.confirm("yes"), "yes has to be a boolean, and 1 is none"),
                             (lambda: kpm.ask("kind", choices=["a", "b"]), "is one of a, b, and 'c' is none of them"),
                             (lambda: kpm.ask("pin", pattern="[0-9]{4}"), "has to fit"),
                             (lambda: kpm.ask("key", secret=True), "key has to be a text, and it is none; --set-string"),
                             (lambda: kpm.ask("a b"), "needs a name"),
                             (lambda: kpm.ask("port", type=list), "type is str, int, float or bool")):
            with self.assertRaisesRegex(Error, words):
                asked()

    def test_keep_secret_answers_secret(self):
        self.start(password="hunter2")
        self.assertEqual(kpm.ask("password", secret=True), "hunter2")
        self.assertEqual(kpm.answers(), (["password"], ["password"]))
        with self.assertRaises(Error) as caught:
            kpm.ask("password", secret=True, pattern="[0-9]+")
        self.assertNotIn("hunter2", str(caught.exception))


@unittest.skipUnless(importlib.util.find_spec("jinja2"), "no Jinja2")
class Templates(unittest.TestCase):
    def test_quote_what_yaml_forbids(self):
        self.assertEqual(kpm.render_text("{{ x | quote }}", x='é"\x85\x7f'), r'"é\"\u0085\u007f"')


@unittest.skipUnless(OPENSSL, "no openssl")
class Certificates(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)
        kept = secret.ecdsa
        self.addCleanup(setattr, secret, "ecdsa", kept)
        secret.ecdsa = self.key

    def openssl(self, *arguments):
        done = subprocess.run([OPENSSL, *arguments], cwd=self.directory, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def key(self, name):
        private = self.directory / f"{name}.key"
        if not private.exists():
            self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", private.name)
        return secret.KeyPair(private.read_text(), self.openssl("pkey", "-in", private.name, "-pubout"))

    def test_are_what_openssl_accepts(self):
        authority = kpm.authority("ca", "example authority")
        server = kpm.certificate("server", "shop.example", authority=authority, names=["shop.example", "10.0.0.1", "::1"], days=30)
        self.assertEqual(server.authority, authority.certificate)
        (self.directory / "ca.pem").write_text(authority.certificate)
        (self.directory / "server.pem").write_text(server.certificate)
        self.assertIn("OK", self.openssl("verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "shop.example", "-CAfile",
                                         "ca.pem", "server.pem"))
        self.assertIn("OK", self.openssl("verify", "-verify_ip", "10.0.0.1", "-CAfile", "ca.pem", "server.pem"))
        self.assertEqual(self.openssl("x509", "-in", "server.pem", "-noout", "-pubkey"), self.key("server").public_key)
        self.assertIn("CN = shop.example", self.openssl("x509", "-in", "server.pem", "-noout", "-subject"))

    def test_sign_themselves_without_an_authority(self):
        alone = kpm.certificate("alone", "alone")
        (self.directory / "alone.pem").write_text(alone.certificate)
        self.assertEqual(alone.authority, alone.certificate)
        self.openssl("verify", "-CAfile", "alone.pem", "alone.pem")

    def test_refuse_what_is_no_name(self):
        for given, words in ((dict(common_name="", names=[]), "1 to 64 characters"), (dict(common_name="a", days=0), "1 to 36500 days"),
                             (dict(common_name="a", names="shop.example"), r"names=\['shop.example'\]"),
                             (dict(common_name="a", names=[443]), "each name of a certificate is a text")):
            with self.assertRaisesRegex(Error, words):
                kpm.certificate("server", **given)
        for name in ("", "bücher.example", "shop.example:443", "https://x", "10.0.0.0/8", "10.0.0.256", "443", "a..b", "-a", "a-", "a.*.b", "*",
                     "a.example.", "a b", "a\n", "a" * 64, "a." * 127 + "b"):
            with self.assertRaisesRegex(Error, "neither a host name nor an address", msg=name):
                kpm.certificate("server", "a", names=[name])
        kpm.certificate("server", "a", names=("*.shop.example", "localhost", "web_1.shop", "a" * 63, "3com.example", "xn--bcher-kva.example"))

    def test_are_signed_by_authorities_alone(self):
        leaf = kpm.certificate("leaf", "leaf", authority=kpm.authority("ca", "example authority"))
        with self.assertRaisesRegex(Error, "leaf can't sign the certificate server"):
            kpm.certificate("server", "server", authority=leaf)

    def test_signatures_are_those_of_rfc_6979(self):
        # Appendix A.2.5: P-256 with SHA-256, message "sample".
        scalar = 0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721
        signature = _certificates._sign(scalar, b"sample")
        (_, whole), = _certificates._parts(signature)
        r, s = (int.from_bytes(content, "big") for _, content in _certificates._parts(whole))
        self.assertEqual(r, 0xEFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716)
        self.assertEqual(s, 0xF7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8)


if __name__ == "__main__":
    unittest.main()
