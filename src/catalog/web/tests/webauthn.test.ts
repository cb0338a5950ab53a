import * as assert from "node:assert/strict";
import { test } from "node:test";

import { answerJson, bytesOf, creationOptions, problemOf, requestOptions, textOf } from "../page/webauthn.ts";

const bytes = (...values: number[]) => Uint8Array.from(values).buffer;

test("bytes are base64url without padding", () => {
  for (const [text, values] of [["", []], ["_-8", [255, 239]], ["AAECAw", [0, 1, 2, 3]], ["__77", [255, 254, 251]]] as const) {
    assert.equal(textOf(bytes(...values)), text);
    assert.deepEqual([...bytesOf(text)], [...values]);
  }
  assert.throws(() => bytesOf("a b$"));
});

test("options become the browser's", () => {
  const made = creationOptions({
    rp: { id: "c.example", name: "Catalog" },
    user: { id: "aA", name: "ann", displayName: "ann" },
    challenge: "AAECAw",
    pubKeyCredParams: [{ alg: -7 }, { alg: -257 }],
    timeout: 1000,
    excludeCredentials: [{ id: "_-8", transports: ["usb"] }, { id: "aA" }],
    authenticatorSelection: { residentKey: "preferred", userVerification: "preferred" },
  });
  assert.deepEqual(made.user, { id: Uint8Array.of(104), name: "ann", displayName: "ann" });
  assert.deepEqual(made.challenge, Uint8Array.of(0, 1, 2, 3));
  assert.deepEqual(made.pubKeyCredParams, [
    { type: "public-key", alg: -7 },
    { type: "public-key", alg: -257 },
  ]);
  assert.deepEqual(made.excludeCredentials, [
    { type: "public-key", id: Uint8Array.of(255, 239), transports: ["usb"] },
    { type: "public-key", id: Uint8Array.of(104) },
  ]);
  assert.equal(made.attestation, "none");
  const asked = requestOptions({ rpId: "c.example", challenge: "aA", timeout: 1, allowCredentials: [], userVerification: "required" });
  assert.deepEqual(asked, { rpId: "c.example", challenge: Uint8Array.of(104), timeout: 1, allowCredentials: [], userVerification: "required" });
});

test("an answer has what the catalog reads", () => {
  const made = { clientDataJSON: bytes(1), attestationObject: bytes(2), getTransports: () => ["internal"] };
  assert.deepEqual(JSON.parse(answerJson({ rawId: bytes(255, 239), response: made })), {
    id: "_-8",
    type: "public-key",
    response: { clientDataJSON: "AQ", attestationObject: "Ag", transports: ["internal"] },
  });
  const old = { clientDataJSON: bytes(1), attestationObject: bytes(2) };
  assert.deepEqual(JSON.parse(answerJson({ rawId: bytes(1), response: old })).response.transports, []);
  const shown = { clientDataJSON: bytes(1), authenticatorData: bytes(2), signature: bytes(3), userHandle: null };
  assert.deepEqual(JSON.parse(answerJson({ rawId: bytes(1), response: shown })).response, {
    clientDataJSON: "AQ",
    authenticatorData: "Ag",
    signature: "Aw",
  });
  assert.equal(JSON.parse(answerJson({ rawId: bytes(1), response: { ...shown, userHandle: bytes(4) } })).response.userHandle, "BA");
});

test("a refusal says what to do", () => {
  assert.match(problemOf("Error", 429), /Wait a minute/);
  assert.match(problemOf("Error", 403), /Load the page again/);
  assert.match(problemOf("NotAllowedError", 200), /cancelled/);
  assert.match(problemOf("InvalidStateError", 200), /already/);
  assert.match(problemOf("TypeError", 0), /didn't answer/);
  assert.match(problemOf("<b>", 200), /gave no passkey/);
});
