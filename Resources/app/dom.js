// Part of app.js: building elements. Text goes in as text; nothing here reads markup.

/** An element with properties and children: `h("button", { class: "x", onclick }, "text")`. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && !name.startsWith("aria") && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const svgNamespace = "http://www.w3.org/2000/svg";

/** An icon from the symbols in index.html. */
export function icon(name) {
  const svg = document.createElementNS(svgNamespace, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(svgNamespace, "use");
  use.setAttribute("href", "#i-" + name);
  svg.append(use);
  return svg;
}

/** A button with an icon; `compact` keeps the label for those who hear the page. */
export function button(label, iconName, onclick, options = {}) {
  const { compact, kind, ...rest } = options;
  return h("button", {
    type: "button", class: ["button", kind, compact && "compact"].filter(Boolean).join(" "),
    title: compact ? label : undefined, onclick, ...rest,
  }, iconName && icon(iconName), h("span", { class: "label" }, label));
}

const toasts = h("div", { class: "toasts", role: "status", "aria-live": "polite", "aria-label": "" });

/** A short message in the live region, with at most one thing to do about it. */
export function toast(text, { action, run, kind, seconds = 8 } = {}) {
  const close = () => {
    clearTimeout(timer);
    item.remove();
  };
  const item = h("div", { class: "toast " + (kind ?? "") },
    h("span", {}, text),
    action && h("button", { type: "button", class: "button", onclick: () => { close(); run(); } }, action),
    h("button", { type: "button", class: "button compact", "aria-label": t("Close"), onclick: close }, icon("close")));
  let timer;
  const wait = () => { timer = setTimeout(close, seconds * 1000); };
  item.addEventListener("pointerenter", () => clearTimeout(timer));
  item.addEventListener("pointerleave", wait);
  item.addEventListener("focusin", () => clearTimeout(timer));
  item.addEventListener("focusout", wait);
  // A modal dialog makes the rest of the page inert: the region moves into the topmost one.
  const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (toasts.parentNode !== top) top.append(toasts);
  toasts.append(item);
  while (toasts.childElementCount > 4) toasts.firstElementChild.remove();
  wait();
  return close;
}

/** Puts the live region where it can be heard, before anything is said in it. */
export function placeToasts() {
  toasts.setAttribute("aria-label", t("Messages"));
  document.body.append(toasts);
}

export const fail = (error) => {
  if (error?.name !== "AbortError") toast(error?.message || String(error), { kind: "bad", seconds: 15 });
};

/** A dialog that is modal, named by its title, and gone from the document once closed. */
export function dialog(title, { kind, onclose, keep } = {}) {
  const heading = h("h2", { id: "d" + Math.random().toString(36).slice(2) }, title);
  const body = h("div", { class: "dialog-body" });
  const buttons = h("div", { class: "dialog-buttons" });
  const before = document.activeElement;
  const element = h("dialog", { class: "dialog " + (kind ?? ""), "aria-labelledby": heading.id },
    h("div", { class: "dialog-head" }, heading,
      keep ? null : button(t("Close"), "close", () => element.close(), { compact: true })),
    body, buttons);
  // `keep`: an answer is needed, so neither Escape nor a click beside it takes the question away.
  element.addEventListener("cancel", (event) => { if (keep) event.preventDefault(); });
  element.addEventListener("keydown", (event) => {
    if (keep && event.key === "Escape") event.preventDefault();
    event.stopPropagation();
  });
  element.addEventListener("close", () => {
    if (toasts.parentNode === element) document.body.append(toasts);
    element.remove();
    if (before?.isConnected) before.focus({ preventScroll: true });
    onclose?.(element.returnValue);
  });
  document.body.append(element);
  return { element, heading, body, buttons, show: () => element.showModal(), close: (value) => element.close(value) };
}

/** Asks before something that can't be undone. */
export function confirm(title, text, yes, kind = "danger") {
  return new Promise((resolve) => {
    const box = dialog(title, { onclose: (value) => resolve(value === "yes") });
    box.element.setAttribute("role", "alertdialog");
    box.body.append(h("p", {}, text));
    box.buttons.append(
      button(t("Cancel"), null, () => box.close()),
      button(yes, null, () => box.close("yes"), { kind, autofocus: true }));
    box.show();
  });
}

/** Asks for one line of text; `selectEnd` is where the preselection ends. Resolves to null when given up. */
export function ask(title, label, value, yes, selectEnd = value.length) {
  return new Promise((resolve) => {
    let answer = null;
    const input = h("input", { type: "text", value, autocomplete: "off", spellcheck: false, required: true });
    const form = h("form", { method: "dialog", onsubmit: (event) => {
      event.preventDefault();
      answer = input.value;
      if (answer.trim()) box.close();
    } }, h("label", { class: "field" }, h("span", {}, label), input));
    const box = dialog(title, { onclose: () => resolve(answer) });
    box.body.append(form);
    box.buttons.append(
      button(t("Cancel"), null, () => box.close()),
      button(yes, null, () => form.requestSubmit(), { kind: "primary" }));
    box.show();
    input.focus();
    input.setSelectionRange(0, selectEnd);
  });
}

/** Where the extension of a name begins; folders and dotfiles have none. */
export function stemLength(name, isFolder) {
  const dot = name.lastIndexOf(".");
  if (isFolder || dot <= 0) return name.length;
  return /\.tar$/i.test(name.slice(0, dot)) ? dot - 4 : dot;
}
