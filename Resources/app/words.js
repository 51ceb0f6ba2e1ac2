// Part of app.js: the words of the page, and how numbers, sizes and dates are written.

/** What the server put into the document: base, assets, language, status, info, listing. */
export const boot = JSON.parse(document.getElementById("boot").textContent);

let words = JSON.parse(document.getElementById("words").textContent);
let language = boot.language;

export const base = boot.base;
export const info = boot.info ?? {};

/** Local settings that survive a reload; a browser without storage gets the defaults. */
export const memory = {
  get(key, otherwise) {
    try {
      return JSON.parse(localStorage.getItem("shareserve." + key)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem("shareserve." + key, JSON.stringify(value));
    } catch {
      // Private windows may refuse storage: the setting lasts as long as the page.
    }
  },
};

let plural, number, dates, longDates, sizes, sooner;

function prepareFormats() {
  const own = (navigator.languages ?? []).find((tag) => tag.split("-")[0] === language.split("-")[0]);
  const locale = own ?? language;
  plural = new Intl.PluralRules(language);
  number = new Intl.NumberFormat(locale);
  dates = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
  longDates = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "medium" });
  sooner = new Intl.RelativeTimeFormat(locale, { numeric: "always", style: "short" });
  sizes = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"].map((unit, step) =>
    new Intl.NumberFormat(locale, {
      style: "unit", unit, unitDisplay: step ? "short" : "long", maximumFractionDigits: step ? 1 : 0,
    }));
  document.documentElement.lang = language;
  document.documentElement.dir = words.dir;
}

/**
 * `english` in the language chosen, with `{name}` filled from `values`. Forms for one and for many stand side by side,
 * divided by `|`, in the order of the language's plural categories.
 */
export function t(english, values = {}) {
  let text = words.words[english] ?? english;
  if (text.includes("|")) {
    const forms = text.split("|");
    const categories = ["zero", "one", "two", "few", "many", "other"].filter((one) => plural.resolvedOptions().pluralCategories.includes(one));
    text = forms[categories.indexOf(plural.select(values.n))] ?? forms.at(-1);
  }
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return typeof value === "number" ? number.format(value) : value ?? whole;
  });
}

export const formatNumber = (value) => number.format(value);
export const formatDate = (ms) => dates.format(ms);
export const formatLongDate = (ms) => longDates.format(ms);
export const currentLanguage = () => language;

export function formatSize(bytes) {
  const step = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return sizes[step].format(bytes / 1000 ** step);
}

/** "in 3 hr.", "in 2 min.": how long something still takes. */
export function formatUntil(seconds) {
  if (seconds < 90) return sooner.format(Math.max(1, Math.round(seconds)), "second");
  if (seconds < 5400) return sooner.format(Math.round(seconds / 60), "minute");
  if (seconds < 172800) return sooner.format(Math.round(seconds / 3600), "hour");
  return sooner.format(Math.round(seconds / 86400), "day");
}

/** A file's name as it may be shown: what would hide, reorder or break text is made visible. */
export function shown(name) {
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\ufffd");
}

export async function chooseLanguage(code) {
  memory.set("language", code);
  if (code === language) return;
  const answer = await fetch(boot.assets + "languages/" + code + ".json");
  if (!answer.ok) return;
  words = await answer.json();
  language = code;
  prepareFormats();
}

prepareFormats();
