#include "catalog/script.h"

#include <fmt/core.h>

#include "crypto/digest.h"

namespace mist::catalog {
namespace {

// data-live names the elements whose content is taken from the page that the form would lead to. That page
// comes from here and its texts are escaped; the Content-Security-Policy lets no other script run.
constexpr std::string_view kScript = R"js("use strict";
(() => {
  const form = document.querySelector("form[data-live]");
  if (!form) return;
  const ids = form.getAttribute("data-live").split(" ");
  const status = document.querySelector("[role=status]");
  const field = document.querySelector("form[data-live] input[type=search]");
  let running = null;
  let timer = 0;

  const address = () => {
    // Fields may be called like members of a form.
    const url = new URL(form.getAttribute("action") ?? "", document.baseURI);
    url.search = "";
    for (const [name, value] of new FormData(form)) if (value !== "") url.searchParams.append(name, value);
    return url;
  };

  const refresh = async () => {
    running?.abort();
    const mine = running = new AbortController();
    const url = address();
    try {
      const answer = await fetch(url, { signal: mine.signal });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine.signal.aborted) return;
      if (!answer.ok) throw new Error(answer.status);
      for (const id of ids) {
        const now = document.getElementById(id);
        const next = page.getElementById(id);
        if (now && next && now.innerHTML !== next.innerHTML) now.replaceChildren(...next.childNodes);
      }
      document.title = page.title;
      history.replaceState(null, "", url);
    } catch (failure) {
      if (failure.name !== "AbortError" && status) status.textContent = "The catalog didn't answer. Press Enter to try again.";
    }
  };

  form.addEventListener("input", (event) => {
    if (event.isComposing) return;
    clearTimeout(timer);
    timer = setTimeout(refresh, 150);
  });
  form.addEventListener("compositionend", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 150);
  });

  if (!field) return;
  // Arrow keys go through what was found, Escape goes back to the field.
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing) return;
    const links = [...document.querySelectorAll("#results a.found")];
    const at = links.indexOf(document.activeElement);
    if (at < 0 && document.activeElement !== field) return;
    let next = null;
    if (event.key === "ArrowDown") next = links[Math.min(at + 1, links.length - 1)];
    else if (event.key === "ArrowUp" && at >= 0) next = at === 0 ? field : links[at - 1];
    else if (event.key === "Escape" && at >= 0) next = field;
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
})();
)js";

}  // namespace

const std::string& script() {
  static const std::string text(kScript);
  return text;
}

const std::string& script_path() {
  static const std::string path =
      fmt::format("/assets/live-{}.js", crypto::sha256(kScript).hex().substr(0, 16));
  return path;
}

}  // namespace mist::catalog
