"""Certificates (RFC 5280) whose keys are the host's secrets, so that the same release gets the same ones. Signed with ECDSA on P-256 and
nonces that follow from key and message (RFC 6979)."""
import base64
import datetime
import hashlib
import hmac
import ipaddress
import re
from dataclasses import dataclass

from mistletoe import Error, secret

# The curve (SEC 2, secp256r1): y² = x³ − 3x + b over a field of P elements, a base point of order N.
P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffff
N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551
G = (0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296, 0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5)

LONGEST_DAYS = 36500
# RFC 1123, with the "_" that names of services may have; a last part of digits alone is an address that went wrong.
_LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"(?:\*\.)?(?:{_LABEL}\.)*(?![0-9]+\Z){_LABEL}")
_LONGEST_HOST = 253


@dataclass(frozen=True)
class Certificate:
    """PEM: the certificate, its key, and the certificate of who signed it."""
    certificate: str
    private_key: str
    authority: str
    name: str


def authority(name: str, common_name: str, *, days: int = 3650) -> Certificate:
    """A certificate authority that signs itself. `name` is that of its secret key."""
    return _issue(name, common_name, days, None, [], True)


def certificate(name: str, common_name: str, *, authority: Certificate | None = None, names=(), days: int = 365) -> Certificate:
    """A certificate for servers and clients. `names` is a list of its host names ("*.shop.example" too) and addresses; without an authority
    it signs itself. It is valid from the release's birth on, for so many days."""
    # A text would be a list of its letters.
    if isinstance(names, str):
        raise Error(f"the names of the certificate {name} are a list of texts: names=[{names!r}]")
    if authority is not None and not _is_authority(authority):
        raise Error(f"{authority.name} can't sign the certificate {name}: it isn't the certificate of an authority, as kpm.authority makes it")
    return _issue(name, common_name, days, authority, list(names), False)


def _issue(name, common_name, days, signer, names, is_authority):
    if not isinstance(common_name, str) or not 1 <= len(common_name) <= 64:
        raise Error(f"the certificate {name} needs a common name of 1 to 64 characters")
    if not isinstance(days, int) or not 1 <= days <= LONGEST_DAYS:
        raise Error(f"the certificate {name} is valid for 1 to {LONGEST_DAYS} days")
    keys = secret.ecdsa(name)
    public = _unarmoured(keys.public_key)
    issuer_name = signer.name if signer else common_name
    issuer_public = _public_of(signer) if signer else public
    begin = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    extensions = [
        _extension("551d13", _sequence(_boolean(True)) if is_authority else _sequence(), critical=True),
        _extension("551d0f", _bits(b"\x06", 1) if is_authority else _bits(b"\x80", 7), critical=True),
        _extension("551d0e", _element(0x04, _key_identifier(public))),
        _extension("551d23", _sequence(_element(0x80, _key_identifier(issuer_public)))),
    ]
    if not is_authority:
        extensions.append(_extension("551d25", _sequence(_oid("2b06010505070301"), _oid("2b06010505070302"))))
    if names:
        extensions.append(_extension("551d11", _sequence(*map(_general_name, names))))
    algorithm = _sequence(_oid("2a8648ce3d040302"))  # ecdsa-with-SHA256
    facts = [algorithm, _name(issuer_name), _sequence(_time(begin), _time(begin + datetime.timedelta(days=days))), _name(common_name), public,
             _element(0xa3, _sequence(*extensions))]
    serial = int.from_bytes(hashlib.sha256(b"serial" + b"".join(facts)).digest()[:16], "big") >> 1
    unsigned = _sequence(_element(0xa0, _integer(2)), _integer(serial), *facts)
    signature = _sign(_scalar_of(signer.private_key if signer else keys.private_key), unsigned)
    text = _armoured("CERTIFICATE", _sequence(unsigned, algorithm, _bits(signature, 0)))
    return Certificate(text, keys.private_key, signer.certificate if signer else text, common_name)


# DER (X.690).


def _element(tag, content):
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def _sequence(*elements):
    return _element(0x30, b"".join(elements))


def _integer(value):
    return _element(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _boolean(value):
    return _element(0x01, b"\xff" if value else b"\x00")


def _oid(digits):
    return _element(0x06, bytes.fromhex(digits))


def _bits(content, unused):
    return _element(0x03, bytes([unused]) + content)


def _time(moment):
    # RFC 5280, section 4.1.2.5: two digits of the year up to 2049.
    if moment.year < 2050:
        return _element(0x17, moment.strftime("%y%m%d%H%M%SZ").encode())
    return _element(0x18, f"{moment.year:04}".encode() + moment.strftime("%m%d%H%M%SZ").encode())


def _name(common_name):
    return _sequence(_element(0x31, _sequence(_oid("550403"), _element(0x0c, common_name.encode()))))


def _extension(oid, content, critical=False):
    return _sequence(_oid(oid), *([_boolean(True)] if critical else []), _element(0x04, content))


def _general_name(name):
    # A number would be an address, too.
    if not isinstance(name, str):
        raise Error(f"{name!r} is neither a host name nor an address: each name of a certificate is a text")
    try:
        return _element(0x87, ipaddress.ip_address(name).packed)
    except ValueError:
        pass
    if len(name) > _LONGEST_HOST or not _HOST.fullmatch(name):
        raise Error(f"{name!r} is neither a host name nor an address; it has no port and no scheme, and names with other letters are written as "
                    "xn--…")
    return _element(0x82, name.encode("ascii"))


def _parts(content):
    """Tag and content of each element."""
    at, found = 0, []
    while at < len(content):
        tag, size, at = content[at], content[at + 1], at + 2
        if size & 0x80:
            digits = size & 0x7f
            size, at = int.from_bytes(content[at:at + digits], "big"), at + digits
        found.append((tag, content[at:at + size]))
        at += size
    return found


def _armoured(kind, content):
    text = base64.b64encode(content).decode()
    lines = [text[at:at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""])


def _unarmoured(text):
    return base64.b64decode("".join(line for line in text.splitlines() if not line.startswith("-----")))


def _key_identifier(public):
    return hashlib.sha1(_parts(_parts(public)[0][1])[1][1][1:]).digest()


def _scalar_of(private_key):
    (_, whole), = _parts(_unarmoured(private_key))
    (_, inner), = _parts(_parts(whole)[2][1])
    return int.from_bytes(_parts(inner)[1][1], "big")


def _facts_of(certificate):
    (_, whole), = _parts(_unarmoured(certificate))
    return _parts(_parts(whole)[0][1])


def _public_of(signer):
    return _element(*_facts_of(signer.certificate)[6])


def _is_authority(signer):
    """Whether its basic constraints (RFC 5280, section 4.2.1.9) say so."""
    for tag, extensions in _facts_of(signer.certificate):
        for _, extension in _parts(_parts(extensions)[0][1]) if tag == 0xa3 else ():
            (_, oid), *_, (_, value) = _parts(extension)
            if oid.hex() == "551d13":
                return _parts(_parts(value)[0][1])[:1] == [(0x01, b"\xff")]
    return False


# ECDSA. Points are (X, Y, Z), with x = X/Z² and y = Y/Z³; None is the one at infinity.


def _double(point):
    x, y, z = point
    delta, gamma = z * z % P, y * y % P
    beta, alpha = x * gamma % P, 3 * (x - delta) * (x + delta) % P
    new_x = (alpha * alpha - 8 * beta) % P
    return new_x, (alpha * (4 * beta - new_x) - 8 * gamma * gamma) % P, ((y + z) ** 2 - gamma - delta) % P


def _add_base(point):
    if point is None:
        return *G, 1
    x, y, z = point
    z2 = z * z % P
    h, r = (G[0] * z2 - x) % P, (G[1] * z2 * z - y) % P
    h2 = h * h % P
    h3, v = h * h2 % P, x * h2 % P
    new_x = (r * r - h3 - 2 * v) % P
    return new_x, (r * (v - new_x) - y * h3) % P, z * h % P


def _base_times(k):
    """The x coordinate of k·G."""
    point = None
    for digit in bin(k)[2:]:
        if point is not None:
            point = _double(point)
        if digit == "1":
            point = _add_base(point)
    x, _, z = point
    return x * pow(z, -2, P) % P


def _nonces(scalar, digest):
    """RFC 6979, section 3.2."""
    material = scalar.to_bytes(32, "big") + (int.from_bytes(digest, "big") % N).to_bytes(32, "big")
    key, value = bytes(32), b"\x01" * 32
    for mark in (b"\x00", b"\x01"):
        key = hmac.digest(key, value + mark + material, "sha256")
        value = hmac.digest(key, value, "sha256")
    while True:
        value = hmac.digest(key, value, "sha256")
        k = int.from_bytes(value, "big")
        if 1 <= k < N:
            yield k
        key = hmac.digest(key, value + b"\x00", "sha256")
        value = hmac.digest(key, value, "sha256")


def _sign(scalar, message):
    digest = hashlib.sha256(message).digest()
    for k in _nonces(scalar, digest):
        r = _base_times(k) % N
        s = pow(k, -1, N) * (int.from_bytes(digest, "big") + r * scalar) % N
        if r and s:
            return _sequence(_integer(r), _integer(s))
