// Converts between the catalog's JSON and the browser's WebAuthn objects (Level 3, sections 5.1.8 to 5.1.10), since not every browser
// does it itself. Bytes are base64url in JSON. Pure; objects of the DOM are described by their parts, so that tests need none.

type Bytes = Uint8Array<ArrayBuffer>;
type Requirement = "discouraged" | "preferred" | "required";
type Transport = "ble" | "hybrid" | "internal" | "nfc" | "usb";

export interface DescriptorJson {
  readonly id: string;
  readonly transports?: readonly Transport[];
}
export interface CreationJson {
  readonly rp: { readonly id: string; readonly name: string };
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string };
  readonly challenge: string;
  readonly pubKeyCredParams: readonly { readonly alg: number }[];
  readonly timeout: number;
  readonly excludeCredentials: readonly DescriptorJson[];
  readonly authenticatorSelection: { readonly residentKey: Requirement; readonly userVerification: Requirement };
}
export interface RequestJson {
  readonly rpId: string;
  readonly challenge: string;
  readonly timeout: number;
  readonly allowCredentials: readonly DescriptorJson[];
  readonly userVerification: Requirement;
}

/** PublicKeyCredential, as far as it is sent: with the members of a new passkey, or of one that was shown. */
export interface Answer {
  readonly rawId: ArrayBuffer;
  readonly response: {
    readonly clientDataJSON: ArrayBuffer;
    readonly attestationObject?: ArrayBuffer;
    getTransports?(): string[];
    readonly authenticatorData?: ArrayBuffer;
    readonly signature?: ArrayBuffer;
    readonly userHandle?: ArrayBuffer | null;
  };
}

export function bytesOf(text: string): Bytes {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

export function textOf(bytes: ArrayBuffer): string {
  let plain = "";
  for (const byte of new Uint8Array(bytes)) plain += String.fromCharCode(byte);
  return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const descriptors = (list: readonly DescriptorJson[]) =>
  list.map(({ id, transports }) => ({ type: "public-key" as const, id: bytesOf(id), ...(transports ? { transports: [...transports] } : {}) }));

/** PublicKeyCredentialCreationOptions. */
export const creationOptions = (json: CreationJson) => ({
  rp: json.rp,
  user: { ...json.user, id: bytesOf(json.user.id) },
  challenge: bytesOf(json.challenge),
  pubKeyCredParams: json.pubKeyCredParams.map(({ alg }) => ({ type: "public-key" as const, alg })),
  timeout: json.timeout,
  excludeCredentials: descriptors(json.excludeCredentials),
  authenticatorSelection: json.authenticatorSelection,
  attestation: "none" as const,
});

/** PublicKeyCredentialRequestOptions. */
export const requestOptions = (json: RequestJson) => ({
  rpId: json.rpId,
  challenge: bytesOf(json.challenge),
  timeout: json.timeout,
  allowCredentials: descriptors(json.allowCredentials),
  userVerification: json.userVerification,
});

/** RegistrationResponseJSON or AuthenticationResponseJSON, as far as the catalog reads it. */
export function answerJson({ rawId, response }: Answer): string {
  const optional = (name: string, bytes: ArrayBuffer | null | undefined) => (bytes ? { [name]: textOf(bytes) } : {});
  return JSON.stringify({
    id: textOf(rawId),
    type: "public-key",
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      ...optional("attestationObject", response.attestationObject),
      ...(response.attestationObject ? { transports: response.getTransports?.() ?? [] } : {}),
      ...optional("authenticatorData", response.authenticatorData),
      ...optional("signature", response.signature),
      ...optional("userHandle", response.userHandle),
    },
  });
}

/** Why a browser gave no passkey, for people. `name` of its error; `status` of the catalog's answer, 0: none. */
export function problemOf(name: string, status: number): string {
  if (status === 429) return "Too many tries. Wait a minute, then try again.";
  if (status !== 200 && status !== 0) return "The catalog refused. Load the page again, then try once more.";
  switch (name) {
    case "NotAllowedError":
      return "No passkey was used: it was cancelled, took too long, or there is none for this catalog.";
    case "InvalidStateError":
      return "This device has a passkey of your account already.";
    case "NotSupportedError":
      return "This device makes no passkey of a kind that the catalog takes.";
    case "SecurityError":
      return "The browser has no passkeys at this address.";
    case "TypeError":
      return "The catalog didn't answer. Try again.";
    default:
      return `The browser gave no passkey (${name}).`;
  }
}
