// Part of app.js, the last one: the page's frame, its addresses, and the start.

const pageTitle = info.title || "shareserve";

app.view = { mode: "list", sort: "name", descending: false, hidden: false, ...memory.get("view", {}) };

const crumbs = h("nav", { class: "crumbs" });
const bar = h("div", { class: "bar", role: "toolbar" });
const filter = h("input", { type: "search", class: "filter", autocomplete: "off", spellcheck: false, enterKeyHint: "search" });
const searchButton = h("button", { type: "button", class: "button" });
const find = h("div", { class: "find", role: "search" }, filter, searchButton);
const banner = h("div", { class: "banner", role: "alert", hidden: true });
const state = h("div", { class: "state", hidden: true });
const summary = h("p", { class: "summary", "aria-live": "polite" });
const searching = h("div", { class: "searching", role: "status", hidden: true });
const tools = h("div", { class: "tools" });
app.others = h("div", { class: "others", role: "status", hidden: true });

app.list = new ListView({
  onOpen: (entry) => app.openEntry(entry),
  onMenu: (x, y) => openContextMenu(x, y),
  onSort: (column) => app.setView(app.view.sort === column
    ? { descending: !app.view.descending } : { sort: column, descending: false }),
});

function openContextMenu(x, y) {
  const chosen = actions.filter((one) => one.scope === "selection");
  const at = chosen.findIndex((one) => one.id === "cut");
  showMenu(menuItems([...chosen.slice(0, at), null, ...chosen.slice(at)]), x, y, t("Actions"));
}

const folderMenu = () => menuItems([
  ...actions.filter((one) => one.scope === "folder"), null,
  ...actions.filter((one) => one.scope === "view" && one.id !== "filter"), null,
  ...actions.filter((one) => one.scope === "more")]);

app.menuAtFocus = () => {
  const row = document.activeElement.closest?.("tr");
  const box = (row ?? app.list.element).getBoundingClientRect();
  if (row?.entry) {
    if (!app.listing.selection.has(row.entry)) app.listing.selectOnly([row.entry]);
    openContextMenu(box.left + 48, box.bottom);
  } else {
    showMenu(folderMenu(), box.left + 48, box.top + 48, t("Actions"));
  }
};

/** The bar shows what can be done: with the folder, or with the selection. */
app.updateBar = () => {
  const { listing } = app;
  const count = listing.selection.size;
  const scope = count ? "selection" : "folder";
  const phone = matchMedia("(pointer: coarse)").matches;
  const usable = actions.filter((one) => one.scope === scope && !one.menuOnly && (!one.phone || phone)
    && (one.enabled() || (scope === "selection" && one.id === "rename")));
  const signature = scope + usable.map((one) => one.id + one.enabled()).join() + currentLanguage();
  bar.classList.toggle("selecting", count > 0);
  bar.hidden = !usable.length && !count;
  if (bar.signature !== signature) {
    bar.signature = signature;
    const hadFocus = bar.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    bar.replaceChildren(
      ...(count ? [button(t("Clear selection"), "close", () => listing.selectOnly([]), { compact: true }), h("span", { class: "count" })] : []),
      ...usable.map((one) => {
        const made = button(t(one.label), one.icon, () => run(one), { kind: one.kind, disabled: !one.enabled(),
          title: one.keys[0] ? `${t(one.label)} (${keyLabel(one.keys[0])})` : t(one.label) });
        made.dataset.action = one.id;
        return made;
      }));
    if (hadFocus) bar.querySelector(`[data-action="${hadFocus}"]`)?.focus();
  }
  const label = bar.querySelector(".count");
  if (label) label.textContent = t("{n} selected", { n: count });
  fitBar();
};

/** Buttons keep their words where all fit in one line: nothing below may jump when something is selected. */
function fitBar() {
  bar.classList.remove("tight");
  bar.classList.toggle("tight", bar.scrollWidth > bar.clientWidth);
}
addEventListener("resize", fitBar);

function updateTools() {
  const grid = app.view.mode === "grid";
  const toggle = button(t(grid ? "Show as list" : "Show as grid"), grid ? "list" : "grid", () => run(action("view.toggle")), { compact: true });
  const more = button(t("More"), "more", () => {
    const box = more.getBoundingClientRect();
    const items = folderMenu();
    items.push(null, ...(info.languages ?? []).map((one) => one.code ?? one).map((code) => ({
      label: new Intl.DisplayNames([code], { type: "language" }).of(code), checked: code === currentLanguage(), icon: "none",
      run: () => chooseLanguage(code).then(translate),
    })));
    if (info.canLogOut) items.push(null, { label: t("Log out {user}", { user: info.user ?? "" }), icon: "user", run: logOut });
    else if (info.canLogIn && !info.user) items.push(null, { label: t("Log in"), icon: "user", run: () => showState("login") });
    showMenu(items, box.left, box.bottom + 4, t("More"));
  }, { compact: true, "aria-haspopup": "menu" });
  tools.replaceChildren(
    button(t("QR code"), "qr", () => run(action("qr")), { compact: true }), toggle,
    button(t("Keyboard shortcuts"), "keyboard", () => run(action("keys")), { compact: true, kind: "wide-only" }), more,
    info.user ? button(t("Log out {user}", { user: info.user }), "user", logOut, { compact: true, kind: "wide-only" }) : "");
}

async function logOut() {
  try {
    await request("POST", apiAddress("logout"));
    location.reload();
  } catch (error) {
    fail(error);
  }
}

function updateCrumbs() {
  const parts = app.href.split("/").filter(Boolean);
  const step = (href, name, last) => h("li", {}, h("a", {
    href: address(href), "aria-current": last ? "page" : undefined, "data-folder": href,
    onclick: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      app.open(href);
    } }, href === "/" ? icon("home") : null, h("bdi", {}, name)));
  crumbs.replaceChildren(h("ol", {}, step("/", pageTitle, !parts.length), parts.map((part, i) =>
    step("/" + parts.slice(0, i + 1).join("/") + "/", shown(decodeName(part)), i === parts.length - 1))));
  crumbs.setAttribute("aria-label", t("Breadcrumbs"));
  crumbs.scrollLeft = document.dir === "rtl" ? -9999 : 9999;
  app.folderTitle = parts.length ? `${shown(decodeName(parts.at(-1)))} \u2013 ${pageTitle}` : pageTitle;
  if (!app.titlePrefix) document.title = app.folderTitle;
}

/** Shows the listing as the view and the filter say, and what to say about it. */
app.arrange = () => {
  const { listing, list } = app;
  list.show(listing, app.view);
  const folders = listing.visible.reduce((sum, entry) => sum + (entry.isFolder ? 1 : 0), 0);
  const files = listing.visible.length - folders;
  const bytes = listing.visible.reduce((sum, entry) => sum + Math.max(0, entry.size), 0);
  summary.replaceChildren(listing.loading && !listing.isSearch ? t("Loading…") : [
    folders ? t("{n} folder|{n} folders", { n: folders }) : "", t("{n} file|{n} files", { n: files }), bytes ? formatSize(bytes) : "",
    listing.hiddenCount ? t("{n} hidden", { n: listing.hiddenCount }) : ""].filter(Boolean).join(" \u00b7 "));
  updateState();
  app.updateBar();
};

function updateState() {
  const { listing } = app;
  if (listing.failure) return showState(listing.failure);
  if (listing.loading || listing.visible.length) return showState(null);
  if (listing.isSearch) return showState("no-match");
  if (!listing.may("read")) return showState(listing.may("create") ? "drop-box" : "forbidden");
  if (listing.filter) return showState("no-match");
  if (listing.hiddenCount) return showState("only-hidden");
  return showState(listing.may("create") ? "empty" : "empty-read");
}

const states = {
  empty: ["This folder is empty", "Drop files here, or use the buttons above."],
  "empty-read": ["This folder is empty", "When somebody adds files, they show here."],
  "drop-box": ["You can send files here", "What is here already is not shown to you."],
  forbidden: ["You may not see this folder", "Ask whoever runs this server, or log in as somebody else."],
  "not-found": ["There is nothing at this address", "It may have been moved or deleted."],
  offline: ["The server does not answer", "Check your connection: this page goes on as soon as it is back."],
  "no-match": ["No name matches", "Try other words, or look in the subfolders as well."],
  "only-hidden": ["Only hidden files here", "Their names begin with a dot."],
};

/** One line that says what is the matter, and what to do. */
function showState(kind) {
  app.list.element.hidden = kind !== null;
  state.hidden = kind === null;
  if (state.kind === kind + currentLanguage() && kind !== "login") return;
  state.kind = kind + currentLanguage();
  if (kind === null) return state.replaceChildren();
  if (kind === "login") return import("./login.js").then((module) => state.replaceChildren(module.loginForm()));
  const icons = { "not-found": "search", "no-match": "search", offline: "retry", forbidden: "lock", "only-hidden": "eye" };
  const todo = {
    "not-found": [button(t("Go to the start"), "home", () => app.open("/"), { kind: "primary" })],
    offline: [button(t("Try again"), "retry", () => app.open(app.href, { replace: true }), { kind: "primary" })],
    "no-match": [button(t("Clear the filter"), "close", () => clearFind())],
    "only-hidden": [button(t("Show hidden files"), "eye", () => run(action("hidden.toggle")))],
    forbidden: [info.canLogIn && !info.user ? button(t("Log in"), "user", () => showState("login"), { kind: "primary" })
      : button(t("Go to the start"), "home", () => app.open("/"))],
  }[kind] ?? [];
  state.replaceChildren(icon(icons[kind] ?? "folder"), h("h2", {}, t(states[kind][0])), h("p", {}, t(states[kind][1])),
    h("div", { class: "state-actions" }, todo));
  return undefined;
}

app.setView = (change) => {
  Object.assign(app.view, change);
  memory.set("view", app.view);
  if (change.mode) {
    app.list.clear();
    updateTools();
  }
  app.arrange();
};

app.setOffline = (offline) => {
  banner.hidden = !offline;
  if (offline) banner.replaceChildren(icon("retry"), h("span", {}, t("No connection to the server. Trying again…")), button(t("Try again"), null, () => app.refresh()));
};

let reading = null;

/** Reads a folder into a fresh listing, showing rows as they come. */
async function load(href, { inlined, keep } = {}) {
  reading?.abort();
  reading = new AbortController();
  const { signal } = reading;
  const listing = new Listing(href);
  const previous = app.listing;
  const show = () => {
    if (app.listing === listing) return app.arrange();
    app.href = href;
    app.listing = listing;
    if (keep && previous) {
      listing.filter = previous.filter;
      listing.selection = new Set([...previous.selection].map((entry) => listing.get(entry.name)).filter(Boolean));
    }
    listing.addEventListener("selection", app.updateBar);
    updateCrumbs();
    return app.arrange();
  };
  if (inlined) {
    listing.rights = new Set(inlined.rights ?? ["read"]);
    listing.add(inlined.entries);
    listing.loading = false;
    return show();
  }
  let drawn = -Infinity;
  try {
    await readEntries(address(href) + "?json", {
      onHead: (head) => { listing.rights = new Set(head.rights ?? ["read"]); },
      onEntries: (batch) => {
        listing.add(batch);
        const now = performance.now();
        // Sorting costs more the more there is: the pauses between two drawings grow with it.
        if (!keep && now - drawn > Math.max(100, listing.entries.size / 50)) {
          drawn = now;
          show();
        }
      }, signal,
    });
    app.setOffline(false);
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    if (error.status === 0 && keep) return app.setOffline(true);
    listing.failure = { 0: "offline", 401: "login", 403: "forbidden", 404: "not-found" }[error.status] ?? "offline";
  }
  listing.loading = false;
  show();
  if (listing.entries.size > 2000) listing.prepare();
  return undefined;
}

/** Goes to a folder and makes its address the page's. */
app.open = async (href, { replace = false, scroll = 0, focus = true, hash = "" } = {}) => {
  const from = app.href;
  clearFind(true);
  if (!replace) {
    history.replaceState({ ...history.state, scroll: scrollY }, "");
    history.pushState({ scroll: 0 }, "", address(href) + hash);
  }
  const done = load(href);
  scrollTo(0, 0);
  follow(href);
  await done;
  scrollTo(0, scroll);
  // Coming back up, the folder left is the one at hand.
  if (focus && parentOf(from) === href && from !== href) app.list.focusEntry(nameOf(from));
};

/** Reads the folder shown again; rows, selection and place stay. */
app.refresh = async ({ quiet } = {}) => {
  if (app.listing.isSearch) return search(app.listing.term);
  if (quiet && app.listing.loading) return undefined;
  const href = app.href;
  const fresh = [];
  const { listing } = app;
  if (listing.failure) return load(href);
  let rights = null;
  try {
    await readEntries(address(href) + "?json", { onHead: (head) => { rights = head.rights; }, onEntries: (batch) => { for (const raw of batch) fresh.push(raw); } });
  } catch (error) {
    if (error.status === 0) app.setOffline(true);
    else if (app.listing === listing) await load(href);
    return undefined;
  }
  app.setOffline(false);
  if (app.listing !== listing) return undefined;
  if (rights) listing.rights = new Set(rights);
  listing.replaceAll(fresh);
  app.arrange();
  return undefined;
};

app.openEntry = async (entry, options = {}) => {
  if (entry.isFolder) return app.open(entry.href);
  const preview = await import("./preview.js");
  return preview.openPreview(entry, options);
};

app.escape = () => {
  if (app.listing.selection.size) return app.listing.selectOnly([]);
  if (filter.value || app.listing.isSearch) return clearFind();
  return undefined;
};

app.focusFilter = () => {
  filter.focus();
  filter.select();
};

function clearFind(quiet) {
  const wasSearch = app.listing?.isSearch;
  filter.value = "";
  stopSearch();
  searching.hidden = true;
  if (app.listing) app.listing.filter = "";
  if (location.hash.startsWith("#search=")) history.replaceState(history.state, "", location.pathname);
  if (quiet) return;
  if (wasSearch) load(app.href);
  else app.arrange();
}

let searchAbort = null;
const stopSearch = () => searchAbort?.abort();

/** Looks for names in the folder and all below; results show as they come. */
async function search(term) {
  const wanted = term.trim();
  if (!wanted) return app.focusFilter();
  stopSearch();
  reading?.abort();
  const abort = searchAbort = new AbortController();
  const found = new Listing(app.href);
  found.isSearch = true;
  found.term = wanted;
  found.rights = app.listing.rights;
  found.addEventListener("selection", app.updateBar);
  app.listing = found;
  filter.value = term;
  history.replaceState(history.state, "", location.pathname + "#search=" + encodeURIComponent(wanted));
  const report = (running) => {
    searching.hidden = false;
    searching.replaceChildren(
      h("span", {}, t(running ? "Searching for “{term}”: {n} found" : "{n} found for “{term}”", { n: found.visible.length, term: shown(wanted) })),
      running ? button(t("Cancel search"), "close", () => { abort.abort(); }) : button(t("Close search"), "close", () => clearFind()));
  };
  app.arrange();
  report(true);
  let drawn = 0;
  const draw = () => {
    drawn = performance.now();
    app.arrange();
    report(found.loading);
  };
  try {
    await readEntries(apiAddress(`search?in=${encodeURIComponent(pathOf(app.href))}&q=${encodeURIComponent(wanted)}`), {
      onEntries: (batch) => {
        found.add(batch);
        if (performance.now() - drawn > 150) draw();
      }, signal: abort.signal,
    });
  } catch (error) {
    if (app.listing === found) fail(error);
  }
  found.loading = false;
  if (app.listing === found) draw();
}

filter.addEventListener("input", () => {
  if (app.listing.isSearch) return;
  app.listing.filter = filter.value;
  scrollTo(0, 0);
  app.arrange();
});
filter.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "Enter") search(filter.value);
  else if (event.key === "Escape") {
    clearFind();
    app.list.focus();
  } else if (event.key === "ArrowDown") {
    app.list.setFocused(0, true);
  } else return;
  event.preventDefault();
  event.stopPropagation();
});
searchButton.addEventListener("click", () => search(filter.value));

/** Everything that has words says them in the language chosen. */
function translate() {
  filter.placeholder = t("Filter this folder");
  filter.setAttribute("aria-label", t("Filter this folder"));
  searchButton.replaceChildren(icon("search"), h("span", { class: "label" }, t("Search subfolders")));
  bar.setAttribute("aria-label", t("Actions"));
  skip.textContent = t("Skip to the files");
  app.list.translate();
  app.list.clear();
  updateTools();
  if (app.listing) {
    updateCrumbs();
    app.arrange();
  }
}

const skip = h("a", { class: "skip", href: "#files", onclick: (event) => {
  event.preventDefault();
  app.list.focus();
} });

function build() {
  const main = h("main", { id: "main" }, banner, app.others, searching, state, app.list.element);
  main.addEventListener("contextmenu", (event) => {
    if (event.target.closest("a, input, button") || event.defaultPrevented) return;
    event.preventDefault();
    showMenu(folderMenu(), event.clientX, event.clientY, t("Actions"));
  });
  main.addEventListener("click", (event) => { if (event.target === main) app.listing.selectOnly([]); });
  document.getElementById("app").append(
    skip, h("header", { class: "top" }, h("h1", { class: "quiet" }, pageTitle), crumbs, find, tools),
    info.header ? h("p", { class: "note" }, info.header) : "",
    h("div", { class: "commands" }, bar), main,
    h("footer", { class: "foot" }, summary, info.footer ? h("p", {}, info.footer) : ""),
    ...makeInputs());
  placeToasts();
}

addEventListener("popstate", (event) => {
  const href = location.pathname.slice(base.length) || "/";
  closeMenu(false);
  if (app.preview?.onAddress()) return;
  if (href !== app.href || app.listing.isSearch) app.open(href, { replace: true, scroll: event.state?.scroll ?? 0 });
  else openFromHash();
});
addEventListener("offline", () => app.setOffline(true));
addEventListener("online", () => app.refresh());

/** `#view=name` opens a preview, `#search=words` a search. */
async function openFromHash() {
  const [, kind, value] = /^#(view|search)=(.*)$/.exec(location.hash) ?? [];
  if (kind === "search") return search(decodeName(value));
  const entry = kind === "view" && app.listing.get(decodeName(value));
  return entry ? app.openEntry(entry, { fromAddress: true }) : undefined;
}

async function start() {
  history.scrollRestoration = "manual";
  const chosen = memory.get("language", null);
  if (chosen) await chooseLanguage(chosen).catch(() => {});
  build();
  translate();
  watchKeys();
  watchPaste();
  watchDrop();
  app.href = location.pathname.slice(base.length).replace(/[^/]*$/, "") || "/";
  app.listing = new Listing(app.href);
  updateCrumbs();
  if (boot.status && boot.status !== 200) {
    app.listing.failure = { 401: "login", 403: "forbidden", 404: "not-found" }[boot.status] ?? "not-found";
    app.listing.loading = false;
    app.arrange();
    return;
  }
  await load(app.href, { inlined: boot.listing });
  scrollTo(0, history.state?.scroll ?? 0);
  await openFromHash();
  addEventListener("pagehide", () => history.replaceState({ ...history.state, scroll: scrollY }, ""));
  setTimeout(() => follow(app.href), 0);
  if (memory.get("unfinished", 0)) import("./transfer.js").then((module) => module.restore());
}

start();
