// Part of app.js: the keyboard. Letters alone find names; actions take the keys in their rows.

/** `Ctrl+Shift+X` for an event; Command counts as Ctrl. */
function keyName(event) {
  const name = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  const letter = /^[A-Z]$/.test(name);
  return [
    (event.ctrlKey || event.metaKey) && "Ctrl", event.altKey && "Alt",
    event.shiftKey && (letter || event.key.length > 1) && "Shift", name,
  ].filter(Boolean).join("+");
}

let typed = "", typedAt = 0;

/** Jumps to the next name that begins with what was typed within a second. */
function typeAhead(letter) {
  const now = performance.now();
  typed = now - typedAt > 1000 ? letter : typed + letter;
  typedAt = now;
  const wanted = typed.toLowerCase();
  const repeated = [...wanted].every((one) => one === wanted[0]);
  const { visible } = app.listing;
  const search = (text, from) => {
    for (let i = 0; i < visible.length; i += 1) {
      const index = (from + i) % visible.length;
      if (visible[index].folded.startsWith(text)) return index;
    }
    return -1;
  };
  let index = search(wanted, app.list.focused + (typed.length === 1 ? 1 : 0));
  if (index < 0 && repeated) index = search(wanted[0], app.list.focused + 1);
  if (index < 0) return;
  app.list.setFocused(index, true);
  app.list.anchor = index;
  app.listing.selectOnly([visible[index]]);
}

function move(event, index) {
  const { list, listing } = app;
  event.preventDefault();
  const next = Math.max(0, Math.min(listing.visible.length - 1, index));
  list.setFocused(next, true);
  if (event.shiftKey) list.selectTo(next, true, true);
  else {
    list.anchor = next;
    if (!event.ctrlKey && !event.metaKey && listing.visible[next]) listing.selectOnly([listing.visible[next]]);
  }
}

const isField = (element) => element?.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]") ?? false;

export function watchKeys() {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isField(event.target) || document.querySelector("dialog[open]")) return;
    const { list, listing } = app;
    const name = keyName(event);
    const inList = list.element.contains(event.target) || event.target === document.body;
    const onControl = event.target.closest?.("a, button, summary, input");
    const rtl = document.dir === "rtl" ? -1 : 1;
    if (inList && !event.altKey) {
      const steps = {
        ArrowDown: list.perRow, ArrowUp: -list.perRow,
        ArrowRight: list.perRow > 1 ? rtl : 0, ArrowLeft: list.perRow > 1 ? -rtl : 0,
        PageDown: list.perRow * Math.max(1, Math.floor(innerHeight / list.rowHeight) - 3),
        PageUp: -list.perRow * Math.max(1, Math.floor(innerHeight / list.rowHeight) - 3),
      };
      if (steps[event.key]) {
        const fresh = event.target === document.body && !listing.selection.size && list.focused === 0;
        return move(event, list.focused + (fresh && steps[event.key] > 0 ? 0 : steps[event.key]));
      }
      if (event.key === "Home") return move(event, 0);
      if (event.key === "End") return move(event, listing.visible.length - 1);
      if (event.key === " " && (!onControl || event.target.matches("a.open"))) {
        event.preventDefault();
        return list.toggle(list.focused);
      }
      if (event.key === "ContextMenu" || name === "Shift+F10") {
        event.preventDefault();
        return app.menuAtFocus();
      }
    }
    if (event.key === "Enter" && (!inList || onControl || !list.current)) return undefined;
    if (event.key === "Enter") {
      event.preventDefault();
      return app.openEntry(list.current);
    }
    if (event.key === "Escape") return app.escape();
    const letterKey = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (letterKey && !memory.get("letters", true)) return undefined;
    if ((name === "Ctrl+C" || name === "Ctrl+X") && getSelection().toString()) return undefined;
    if (name === "Ctrl+V") return pasteSoon();
    const one = actions.find((candidate) => candidate.keys.includes(name));
    if (one) {
      if (one.scope === "selection" && !listing.selection.size && list.current && list.element.contains(event.target)) {
        listing.selectOnly([list.current]);
      }
      event.preventDefault();
      return void run(one);
    }
    if (letterKey && inList && event.key !== " ") {
      event.preventDefault();
      typeAhead(event.key);
    }
    return undefined;
  });
}

let pasteTimer = null;

/** What was cut or copied here is pasted, unless the browser's own paste brings files. */
function pasteSoon() {
  pasteTimer = setTimeout(() => run(action("paste")), 150);
}

export function watchPaste() {
  addEventListener("paste", async (event) => {
    if (isField(event.target) || document.querySelector("dialog[open]")) return;
    clearTimeout(pasteTimer);
    const files = [...(event.clipboardData?.files ?? [])];
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!files.length && app.clipboard) return void run(action("paste"));
    if (!action("upload").enabled() || (!files.length && !text)) return;
    const { upload, fromClipboard } = await import("./transfer.js");
    upload(fromClipboard(files, text), app.href);
  });
}
