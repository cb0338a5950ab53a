// Arrow keys go through what was found; Escape goes back to the field of the search.

export function walkResults(field: HTMLInputElement): void {
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing) return;
    const links = [...document.querySelectorAll<HTMLAnchorElement>("#results a.found")];
    const at = links.findIndex((link) => link === document.activeElement);
    if (at < 0 && document.activeElement !== field) return;
    const next = target(event.key, at, links, field);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}

/** The element that gets the focus next; `at` is the index of the link that has it, -1: the field. */
function target(key: string, at: number, links: readonly HTMLElement[], field: HTMLElement): HTMLElement | undefined {
  if (key === "ArrowDown") return links[Math.min(at + 1, links.length - 1)];
  if (key === "ArrowUp" && at >= 0) return at === 0 ? field : links[at - 1];
  if (key === "Escape" && at >= 0) return field;
  return undefined;
}
