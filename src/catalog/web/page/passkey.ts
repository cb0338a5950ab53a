// The buttons by which forms are sent with a passkey: asks the catalog what to ask, the browser for the passkey, and sends the form with its
// answer. The forms are made by src/catalog/passkey_pages.cc; data-passkey is the address of the question, data-proof that of the question for a
// passkey that the account has, before it gets a new one.

import { answerJson, creationOptions, problemOf, requestOptions, type Answer, type CreationJson, type RequestJson } from "./webauthn.ts";

for (const form of document.querySelectorAll<HTMLFormElement>("form[data-passkey]")) {
  const button = form.querySelector<HTMLButtonElement>("button.passkey");
  const status = form.querySelector<HTMLElement>(".passkey-status");
  const field = form.querySelector<HTMLInputElement>("input[name=credential]");
  if (!button || !status || !field) continue;
  button.hidden = false;
  if (typeof PublicKeyCredential === "function" && navigator.credentials) offerPasskey(form, button, status, field);
  else {
    button.disabled = true;
    status.textContent = "This browser has no passkeys here.";
  }
}

function offerPasskey(form: HTMLFormElement, button: HTMLButtonElement, status: HTMLElement, field: HTMLInputElement): void {
  const proof = form.querySelector<HTMLInputElement>("input[name=proof]");
  const code = form.querySelector<HTMLInputElement>("input[name=code]");
  let answered = 0;

  const ask = async (address: string): Promise<CreationJson | RequestJson> => {
    const token = form.querySelector<HTMLInputElement>("input[name=form]")?.value ?? "";
    const answer = await fetch(address, { method: "POST", body: new URLSearchParams({ form: token }), redirect: "error" });
    answered = answer.status;
    if (!answer.ok) throw new Error(String(answer.status));
    return (await answer.json()) as CreationJson | RequestJson;
  };

  const answerTo = async (address: string): Promise<string> => {
    answered = 0;
    const question = await ask(address);
    const credential =
      "rpId" in question
        ? await navigator.credentials.get({ publicKey: requestOptions(question) })
        : await navigator.credentials.create({ publicKey: creationOptions(question) });
    if (!credential) throw new DOMException("", "NotAllowedError");
    return answerJson(credential as Credential & Answer);
  };

  const send = async () => {
    // A passkey takes the place of a code, and of nothing else that the form asks for. A new one takes the place of nothing.
    const mayLackCode = proof !== null || !isForNewOne(form);
    const fields = [...form.querySelectorAll<HTMLInputElement | HTMLSelectElement>("input, select")];
    if (!fields.every((each) => (each === code && mayLackCode) || each.reportValidity())) return;
    button.disabled = true;
    try {
      // Kept while the form isn't sent: a browser that wants another click for the new one doesn't ask for both again.
      if (proof && !proof.value && !code?.value) {
        status.textContent = "Waiting for a passkey that you have…";
        proof.value = await answerTo(form.dataset["proof"] ?? "");
      }
      status.textContent = proof ? "Waiting for the new passkey…" : "Waiting for the passkey…";
      field.value = await answerTo(form.dataset["passkey"] ?? "");
      form.submit();
      if (proof) proof.value = "";
    } catch (error) {
      status.textContent = problemOf(error instanceof Error ? error.name : "", answered);
    }
    button.disabled = false;
  };
  button.addEventListener("click", send);
  // Enter in a field must not send the form without a passkey.
  if (isForNewOne(form))
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void send();
    });
}

/** The form has no other button. */
function isForNewOne(form: HTMLFormElement): boolean {
  return form.querySelector("button:not(.passkey)") === null;
}
