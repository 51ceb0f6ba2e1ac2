// Part of app.js: what others change shows without a reload.

let source = null, pending = null;
const changed = new Set();

/** Follows the folder shown; a tab in the background lets go, and catches up when it is seen again. */
export function follow(href) {
  source?.close();
  source = null;
  if (document.hidden || !globalThis.EventSource) return;
  const opened = new EventSource(apiAddress("events?in=" + encodeURIComponent(pathOf(href))));
  let lost = false;
  opened.addEventListener("open", () => {
    app.setOffline(false);
    if (lost) app.refresh();
    lost = false;
  });
  opened.addEventListener("error", () => { lost = true; });
  opened.addEventListener("changed", (event) => {
    const what = JSON.parse(event.data);
    for (const name of what.names ?? ["/"]) touch(name);
  });
  opened.addEventListener("uploads", (event) => showOthers(JSON.parse(event.data)));
  source = opened;
}

/** Says that the page itself changed a name here. */
export function touch(name) {
  changed.add(name);
  pending ??= setTimeout(takeOver, 200);
}

/** Asks for the changed names only, or for the whole folder when they are many. */
async function takeOver() {
  const names = [...changed];
  changed.clear();
  pending = null;
  const { listing, href } = app;
  if (listing.loading || listing.isSearch) return;
  app.onRemoteChange?.(names);
  if (names.includes("/") || names.length > 50) return void app.refresh();
  const found = [];
  try {
    const query = names.map((name) => "&name=" + encodeName(name)).join("");
    await readEntries(address(href) + "?json" + query, { onEntries: (batch) => found.push(...batch) });
  } catch (error) {
    if (error.status === 404) app.refresh();
    return;
  }
  if (app.listing !== listing) return;
  const there = new Set(found.map((raw) => raw.name));
  for (const name of names) if (!there.has(name)) listing.remove(name);
  listing.add(found.filter((raw) => names.includes(raw.name)));
  app.arrange();
}

/** A line for each upload that somebody else has in progress here. */
function showOthers(uploads) {
  const list = Array.isArray(uploads) ? uploads : uploads.uploads ?? [];
  const mine = app.ownUploads?.() ?? new Set();
  const others = list.filter((upload) => !mine.has(upload.id));
  app.others.hidden = !others.length;
  app.others.replaceChildren(...others.slice(0, 5).map((upload) => h("p", {}, icon("upload"), h("span", {},
    t(upload.length ? "Somebody is uploading “{name}”: {percent} %" : "Somebody is uploading “{name}”", { name: shown(upload.name ?? "?"),
      percent: formatNumber(Math.floor(100 * (upload.offset ?? 0) / (upload.length || 1))) })))));
}

addEventListener("visibilitychange", () => {
  if (!document.hidden) app.refresh?.({ quiet: true });
  if (app.listing) follow(app.href);
});
