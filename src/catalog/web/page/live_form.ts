// Shows the result of a form while somebody types. data-live names the elements whose content is taken from the page that the form would
// lead to. That page comes from the catalog and its texts are escaped; the Content-Security-Policy lets no other script run.

const PAUSE = 150; // milliseconds after the last key
// The server takes 16 KiB of a request's head (src/http/web_server.h), and the address isn't all of it.
const LONGEST_ADDRESS = 12_000; // characters
const TOO_LONG = "That is too long for this form. Write it into the file by yourself.";

/** Whether no server would take it, before it is asked or by its answer. */
export const isTooLong = (url: URL): boolean => url.href.length > LONGEST_ADDRESS;
export const saysTooLong = (status: number): boolean => status === 414 || status === 431;

export function addressOf(form: HTMLFormElement): URL {
  // Fields may be called like members of a form.
  const url = new URL(form.getAttribute("action") ?? "", document.baseURI);
  url.search = "";
  addFields(url, form);
  return url;
}

/** The values that were filled in, as a browser without scripts sends them. */
export function addFields(url: URL, form: HTMLFormElement): void {
  for (const [name, value] of new FormData(form)) if (typeof value === "string" && value !== "") url.searchParams.append(name, value);
}

export function keepFresh(form: HTMLFormElement): void {
  const ids = (form.getAttribute("data-live") ?? "").split(" ");
  const status = document.querySelector("[role=status]");
  let running: AbortController | null = null;
  let timer = 0;

  const say = (words: string) => {
    if (status) status.textContent = words;
  };
  const refresh = async () => {
    running?.abort();
    const mine = (running = new AbortController());
    const url = addressOf(form);
    if (isTooLong(url)) return say(TOO_LONG);
    try {
      const answer = await fetch(url, { signal: mine.signal });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine.signal.aborted) return;
      if (answer.status === 404 || answer.status === 410) {
        // What is shown holds no longer: it is hidden now, or not there any more.
        for (const id of ids) document.getElementById(id)?.replaceChildren();
        say(page.querySelector("main h1 + p")?.textContent || "It isn't there any more.");
        return;
      }
      if (saysTooLong(answer.status)) return say(TOO_LONG);
      if (!answer.ok) throw new Error(String(answer.status));
      for (const id of ids) replaceContent(document.getElementById(id), page.getElementById(id));
      document.title = page.title;
      history.replaceState(null, "", url);
    } catch {
      if (!mine.signal.aborted) say("The catalog didn't answer. Press Enter to try again.");
    }
  };
  const refreshSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, PAUSE);
  };

  form.addEventListener("input", (event) => {
    if (!(event instanceof InputEvent && event.isComposing)) refreshSoon();
  });
  form.addEventListener("compositionend", refreshSoon);
  // The page that it leads to would be an error, without what was typed.
  form.addEventListener("submit", (event) => {
    if (!isTooLong(addressOf(form))) return;
    event.preventDefault();
    say(TOO_LONG);
  });
}

function replaceContent(now: Element | null, next: Element | null): void {
  if (now && next && now.innerHTML !== next.innerHTML) now.replaceChildren(...next.childNodes);
}
