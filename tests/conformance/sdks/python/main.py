"""The package of the conformance table, in Python; its siblings are in the other languages."""
from dataclasses import dataclass
from typing import Any, Literal

from mistletoe import Error, Output, call, log, secret, to_yaml, value


@dataclass
class Port:
    name: str = value(pattern="^[a-z]+$")
    port: int = value(minimum=1, maximum=65535)
    # The host fills it in.
    protocol: Literal["TCP", "UDP"] = value("TCP")


@dataclass
class Backend:
    host: str
    port: int = value(5432, minimum=1)


@dataclass(kw_only=True)
class Inputs:
    name: str = value(doc="The name of the release")
    replicas: int = value(2, minimum=0, maximum=100)
    message: str = value("hello", max_length=40)
    ports: list[Port] = value([Port("http", 80)])
    labels: dict[str, str] = value({})
    level: Literal["low", "high"] = value("low")
    fail: str = value("")
    call: bool = value(False)
    backend: Backend | None = value(None)
    values: Any = value(None)


def generate(inputs: Inputs) -> Output:
    log.info(f"{inputs.name} is rendered")
    if inputs.fail == "infinity":
        return Output().with_exports({"size": float("-inf")})
    fail_as_told(inputs)
    output = (Output()
              .with_object("web/deployment.yaml", deployment(inputs))
              .with_object("web/service.yaml", service(inputs))
              .with_object("secret.yaml", secrets(inputs.name))
              .with_object("values.yaml", {
                  "apiVersion": "example.com/v1",
                  "kind": "Anything",
                  "metadata": {"name": inputs.name},
                  "spec": {"values": inputs.values, "message": inputs.message, "backend": inputs.backend,
                           "numbers": [100000.0, 2.5, -0.00001, 1e-7, 1e20, 1e21]},
              })
              .after(f"Deployment/{inputs.name}", f"Secret/{inputs.name}")
              .with_message(f"Merry Christmas, {inputs.name} ❄")
              .with_exports({"host": inputs.name, "ports": len(inputs.ports)}))
    if inputs.call:
        output.with_files_from("called", call("called", {"size": inputs.replicas}))
    return output


def fail_as_told(inputs: Inputs) -> None:
    match inputs.fail:
        case "":
            pass
        case "cause":
            raise Error("can't make the Service") from Error("no port")
        case "secret":
            secret.password("not a name!")
        case "undeclared":
            call("nobody", {})
        case "called":
            call("called", {"size": -1})
        case "nan":
            Output().with_object("x.yaml", {"spec": {"replicas": float("nan")}})
        case "yaml":
            try:
                to_yaml({"spec": {"replicas": float("nan")}})
            except ValueError as error:
                raise Error(str(error)) from None
        case words:
            raise Error(f"it fails: {words}")


def deployment(inputs: Inputs) -> dict:
    labels = {"app": inputs.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": inputs.name, "labels": inputs.labels, "annotations": {"level": inputs.level}},
        "spec": {
            "replicas": inputs.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{
                    "name": "web",
                    "image": "registry.example/web:1.2",
                    "args": ["--port=80", "-v", "", "a: b", "yes", "0777", "1e3", "12:30:45"],
                    "command": ["sh", "-c", "set -e\nexec web\n"],
                    "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {}},
                    "env": [],
                }]},
            },
        },
    }


def service(inputs: Inputs) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": inputs.name},
        "spec": {"selector": {"app": inputs.name}, "ports": inputs.ports},
    }


def secrets(name: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": {
            "password": secret.password("db"),
            "pin": secret.password("pin", length=8, alphabet="0123456789", require=["digit"]),
            "token": secret.hex("token", 40),
            "salt": secret.base64("salt", 16),
            "id": secret.uuid("id"),
            "key": secret.ed25519("key").private_key,
        },
    }
