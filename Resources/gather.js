// Where uploads come from: drops, pickers and the clipboard, as streams of { file, path, handle } and { folder }.

import { t } from "./app.js";

export async function* fromPicker(files) {
  for (const file of files) yield { file, path: file.webkitRelativePath || file.name };
}

/** A reader gives at most a hundred entries at a time, and an empty answer at the end. */
async function* childrenOf(folder) {
  const reader = folder.createReader();
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!batch.length) return;
    yield* batch;
  }
}

async function* walk(entry, path) {
  if (entry.isFile) {
    yield { file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path };
    return;
  }
  yield { folder: path };
  for await (const child of childrenOf(entry)) yield* walk(child, `${path}/${child.name}`);
}

/** `items`: what the drop event gave at once: { entry, file, handle }. */
export async function* fromDrop(items) {
  for (const { entry, file, handle } of items) {
    if (entry?.isDirectory) yield* walk(entry, entry.name);
    else if (file) yield { file, path: file.name, handle };
  }
}

export async function* fromClipboard(files, text) {
  const now = new Date();
  const stamp = new Date(now - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 19).replace("T", " ").replaceAll(":", ".");
  for (const file of files) {
    // Pictures from the clipboard are all called image.png.
    const path = file.name === "image.png" ? `${t("Pasted image")} ${stamp}.png` : file.name;
    yield { file, path };
  }
  if (!files.length && text) yield { file: new File([text], "text", { type: "text/plain" }), path: `${t("Pasted text")} ${stamp}.txt` };
}
