"""Requests to the host (docs/formats/abi.md). In a test, where there is none, a stand-in gives secrets of the right form, which depend
on their names alone, has no objects to look up, and refuses everything else."""
import json
import sys

from ._errors import HostError

try:
    from _mistletoe import request as _exchange
except ImportError:
    def _exchange(text):
        return json.dumps(_stand_in(json.loads(text))).encode()


def ask(operation, **request):
    """The host's answer; HostError in its words."""
    try:
        answer = json.loads(_exchange(json.dumps({"op": operation, **request}).encode()))
    except ValueError as error:
        raise HostError("the host's answer can't be read") from error
    if isinstance(answer, dict) and "ok" in answer:
        return answer["ok"]
    refusal = answer.get("error") if isinstance(answer, dict) else None
    message = refusal.get("message") if isinstance(refusal, dict) else None
    hint = refusal.get("hint") if isinstance(refusal, dict) else None
    raise HostError(f"{message} ({hint})" if message and hint else message or "the host gave no answer")


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_DIGITS = "0123456789abcdef"


def _stand_in(request):
    if request["op"] == "log":
        print(f"{request['level']}: {request['message']}", file=sys.stderr)
        return {"ok": {}}
    if request["op"] == "secret.hide":
        return {"ok": {}}
    if request["op"] == "lookup":
        return {"ok": None if request["name"] else {"items": []}}
    if request["op"] != "secret.get":
        return _refusal("there is no host here that could answer that")

    def characters(alphabet, length):
        state = 0xcbf29ce484222325
        for byte in request["name"].encode():
            state = (state ^ byte) * 0x100000001b3 % 2**64  # FNV-1a
        text = ""
        state |= 1
        for _ in range(length):
            state ^= state << 13 & 2**64 - 1
            state ^= state >> 7
            state ^= state << 17 & 2**64 - 1  # xorshift64
            text += alphabet[state % len(alphabet)]
        return text

    def length(otherwise):
        return request.get("length") or otherwise

    kind = request["kind"]
    if kind == "password":
        value = characters(request.get("alphabet") or _LETTERS, length(24))
    elif kind == "alphanumeric":
        value = characters(_LETTERS, length(32))
    elif kind == "hex":
        value = characters(_DIGITS, length(64))
    elif kind == "base64":
        whole = (length(32) + 2) // 3 * 4
        padding = whole * 3 // 4 - length(32)
        value = characters("ABCDEFGH", whole)
        if padding:
            value = value[:whole - padding - 1] + "A" + "=" * padding
    elif kind == "uuid":
        digits = characters(_DIGITS, 32)
        value = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
    else:
        return _refusal(f"there is no host here that could give a secret of kind {kind}")
    return {"ok": {"value": value}}


def _refusal(message):
    return {"error": {"kind": "Invalid", "message": message}}
