// The question about a name that is taken.

import { address, button, dialog, formatDate, formatSize, h, icon, nameOf, shown, t } from "./app.js";

const pictures = /\.(png|jpe?g|gif|webp|avif|svg|bmp)$/i;

function side(heading, { name, size, modified, href, file, isFolder }) {
  const picture = h("div", { class: "picture" }, icon(isFolder ? "folder" : "file"));
  let source = null;
  if (pictures.test(name) && (file || href && !isFolder)) {
    source = file ? URL.createObjectURL(file) : address(href);
    picture.replaceChildren(h("img", { alt: "", src: source }));
  }
  return { source, element: h("section", {}, h("h3", {}, heading), picture, h("strong", {}, h("bdi", {}, shown(name))),
    h("span", {}, isFolder || !(size >= 0) ? "" : formatSize(size)), h("span", {}, modified ? formatDate(modified) : "")) };
}

/** Resolves to { choice: "replace" | "keep" | "skip", all }. Only an answer closes it. */
export function askConflict({ ours, theirs, folder, several }) {
  return new Promise((resolve) => {
    const box = dialog(t("“{name}” is already there", { name: shown(ours.name) }), { kind: "wide", keep: true, onclose: (choice) => {
      if (mine.source?.startsWith("blob:")) URL.revokeObjectURL(mine.source);
      resolve({ choice: choice || "skip", all: all.checked });
    } });
    const existing = side(t("Already there"), theirs ?? { name: ours.name });
    const mine = side(t("New"), ours);
    const all = h("input", { type: "checkbox" });
    box.body.append(
      h("p", {}, t("A file of this name exists in “{folder}”. Which one do you want?", { folder: folder === "/" ? t("Home") : shown(nameOf(folder)) })),
      h("div", { class: "compare" }, existing.element, mine.element));
    if (several) box.body.append(h("label", { class: "choice" }, all, t("Do this for all conflicts")));
    const answer = (label, choice, kind) => button(t(label), null, () => box.close(choice), { kind });
    const mayReplace = !theirs || Boolean(theirs.isFolder) === Boolean(ours.isFolder);
    box.buttons.append(answer("Skip", "skip"), mayReplace ? answer("Replace", "replace", "danger") : "",
      answer("Keep both", "keep", "primary"));
    box.show();
    box.buttons.lastElementChild.focus();
  });
}
