// Share links: an address that shows one file or folder to whoever has it.

import { apiAddress, button, confirm, dialog, fail, formatDate, h, nameOf, pathOf, request, shown, t, toast } from "./app.js";
import { drawCode } from "./qr.js";

/** Copies text also where pages have no clipboard of their own, as from plain http. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h("textarea", { value: text, class: "quiet" });
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  toast(t("Address copied"), { seconds: 3 });
}

const full = (item) => new URL(item.address, location.origin).href;

export function showLinks(href) {
  const box = dialog(t("Share “{name}”", { name: href === "/" ? t("Home") : shown(nameOf(href)) }), { kind: "wide" });
  const rows = h("ul", { class: "rows", "aria-label": t("Links") });
  const expires = h("select", {}, [[3600, "1 hour"], [86400, "1 day"], [604800, "1 week"], [2592000, "30 days"], ["", "Never"]]
    .map(([value, word]) => h("option", { value, selected: value === 604800 }, t(word))));
  const password = h("input", { type: "text", autocomplete: "off", placeholder: t("optional") });
  const count = h("input", { type: "number", min: 1, placeholder: t("optional") });
  const uploads = h("input", { type: "checkbox" });
  const field = (label, input) => h("label", { class: "field" }, h("span", {}, label), input);

  async function load() {
    const answer = await request("GET", apiAddress("links?path=" + encodeURIComponent(pathOf(href))));
    const path = pathOf(href).replace(/\/$/, "");
    const { items } = await answer.json();
    rows.replaceChildren(...items.filter((item) => item.path.replace(/\/$/, "") === path).map(row));
  }

  const row = (item) => h("li", {},
    h("span", {}, h("a", { href: full(item), target: "_blank", rel: "noopener" }, full(item)), h("small", {}, [
      item.expires ? t("until {date}", { date: formatDate(item.expires) }) : t("Never expires"), item.upload ? t("with uploads") : "",
      item.password ? t("with password") : "", item.maxDownloads ? t("{n} of {max} downloads", { n: item.downloads ?? 0, max: item.maxDownloads }) : "",
    ].filter(Boolean).join(" \u00b7 "))),
    button(t("Copy address"), "copy", () => copyText(full(item)), { compact: true }),
    button(t("QR code"), "qr", () => {
      const code = dialog(t("QR code"));
      code.body.append(drawCode(full(item)));
      code.show();
    }, { compact: true }),
    button(t("Revoke link"), "delete", async () => {
      if (!await confirm(t("Revoke link"), t("The address stops working at once."), t("Revoke link"))) return;
      await request("DELETE", apiAddress("links?id=" + encodeURIComponent(item.id))).then(load).catch(fail);
    }, { compact: true, kind: "danger" }));

  box.body.append(
    h("div", { class: "two" }, field(t("Expires"), expires), field(t("Password"), password), field(t("Most downloads"), count),
      href.endsWith("/") ? h("label", { class: "choice" }, uploads, t("Allow uploads")) : ""),
    rows);
  box.buttons.append(button(t("Create link"), "link", async () => {
    try {
      const answer = await request("POST", apiAddress("links"), { json: { path: pathOf(href), expires: Number(expires.value) || null,
        upload: uploads.checked, password: password.value || null, maxDownloads: Number(count.value) || null } });
      const item = await answer.json();
      await load();
      await copyText(full(item));
    } catch (error) {
      fail(error);
    }
  }, { kind: "primary" }));
  load().catch(fail);
  box.show();
}
