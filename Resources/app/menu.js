// Part of app.js: menus, for the context menu and the buttons that open one.

let openMenu = null;

export function closeMenu(giveFocusBack = true) {
  if (!openMenu) return;
  const { element, before } = openMenu;
  openMenu = null;
  element.remove();
  if (giveFocusBack && before?.isConnected) before.focus({ preventScroll: true });
}

/** Shows `items` ({ label, icon, keys, run, checked, kind } or null for a line) at a point of the window. */
export function showMenu(items, x, y, label) {
  closeMenu();
  const element = h("div", { class: "menu", role: "menu", "aria-label": label, tabIndex: -1 },
    items.map((item) => item === null ? h("hr", { role: "separator" }) : h("button", {
      type: "button", class: "item " + (item.kind ?? ""), tabIndex: -1,
      role: item.checked === undefined ? "menuitem" : "menuitemcheckbox",
      "aria-checked": item.checked === undefined ? undefined : String(item.checked),
      onclick: () => { closeMenu(); item.run(); },
    }, icon(item.checked ? "check" : item.icon ?? "none"), h("span", {}, item.label),
    item.keys && h("kbd", { "aria-hidden": "true" }, item.keys))));
  openMenu = { element, before: document.activeElement };
  document.body.append(element);
  const box = element.getBoundingClientRect();
  if (document.dir === "rtl") x -= box.width;
  element.style.left = Math.max(8, Math.min(x, innerWidth - box.width - 8)) + "px";
  element.style.top = Math.max(8, Math.min(y, innerHeight - box.height - 8)) + "px";
  const choices = [...element.querySelectorAll("button")];
  element.addEventListener("keydown", (event) => {
    const at = choices.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at < 0 ? choices.length - 1 : at - 1 + choices.length, Home: 0, End: choices.length - 1 }[event.key];
    if (next !== undefined) choices[next % choices.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") closeMenu();
    else if (event.key.length === 1 && event.key !== " ") {
      const wanted = event.key.toLowerCase();
      [...choices.slice(at + 1), ...choices].find((choice) => choice.textContent.trim().toLowerCase().startsWith(wanted))?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  choices[0]?.focus({ preventScroll: true });
}

addEventListener("pointerdown", (event) => {
  if (openMenu && !openMenu.element.contains(event.target)) closeMenu(false);
}, true);
addEventListener("scroll", () => closeMenu(), { passive: true });
addEventListener("blur", () => closeMenu());
