// The buttons by which forms are sent with a passkey: asks the catalog what to ask, the browser for the passkey, and sends the form with its
// answer. The forms are made by src/catalog/passkey_pages.cc; data-passkey is the address of the question.

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
  let answered = 0;

  const ask = async (): Promise<CreationJson | RequestJson> => {
    const token = form.querySelector<HTMLInputElement>("input[name=form]")?.value ?? "";
    const answer = await fetch(form.dataset["passkey"] ?? "", { method: "POST", body: new URLSearchParams({ form: token }), redirect: "error" });
    answered = answer.status;
    if (!answer.ok) throw new Error(String(answer.status));
    return (await answer.json()) as CreationJson | RequestJson;
  };

  const send = async () => {
    // A passkey takes the place of a code, and of nothing else that the form asks for.
    const fields = [...form.querySelectorAll<HTMLInputElement | HTMLSelectElement>("input, select")];
    if (!fields.every((each) => each.name === "code" || each.reportValidity())) return;
    button.disabled = true;
    status.textContent = "Waiting for the passkey…";
    answered = 0;
    try {
      const question = await ask();
      const credential =
        "rpId" in question
          ? await navigator.credentials.get({ publicKey: requestOptions(question) })
          : await navigator.credentials.create({ publicKey: creationOptions(question) });
      if (!credential) throw new DOMException("", "NotAllowedError");
      field.value = answerJson(credential as Credential & Answer);
      form.submit();
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
