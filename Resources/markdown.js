// Markdown as elements: each is made by name and filled with text, so that nothing in a file can become markup.

import { h } from "./app.js";

/** Addresses that only lead somewhere: web pages, mail, and files beside this one. */
function safeAddress(target, folder) {
  try {
    const url = new URL(target, location.origin + folder);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url : null;
  } catch {
    return null;
  }
}

const inlineRules = [
  [/`([^`]+)`/, (match) => h("code", {}, match[1])],
  [/!\[([^\]]*)\]\(([^)\s]+)[^)]*\)/, (match, folder) => {
    const url = safeAddress(match[2], folder);
    return url?.origin === location.origin ? h("img", { alt: match[1], src: url.href, loading: "lazy" }) : match[1];
  }],
  [/\[([^\]]+)\]\(([^)\s]+)[^)]*\)/, (match, folder) => {
    const url = safeAddress(match[2], folder);
    return url ? h("a", { href: url.href, rel: "noopener noreferrer", target: "_blank" }, inline(match[1], folder)) : match[1];
  }],
  [/<?(https?:\/\/[^\s<>)]+)>?/, (match) => h("a", { href: match[1], rel: "noopener noreferrer", target: "_blank" }, match[1])],
  [/\*\*(.+?)\*\*|__(.+?)__/, (match, folder) => h("strong", {}, inline(match[1] ?? match[2], folder))],
  [/\*([^*\s][^*]*)\*|\b_([^_]+)_\b/, (match, folder) => h("em", {}, inline(match[1] ?? match[2], folder))],
  [/~~(.+?)~~/, (match, folder) => h("del", {}, inline(match[1], folder))],
];

function inline(text, folder) {
  let first = null;
  for (const [pattern, make] of inlineRules) {
    const match = pattern.exec(text);
    if (match && (!first || match.index < first.match.index)) first = { match, make };
  }
  if (!first) return [text];
  const { match, make } = first;
  return [text.slice(0, match.index), make(match, folder), ...inline(text.slice(match.index + match[0].length), folder)];
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

/** The elements for a Markdown text; `folder` is where its relative addresses begin. */
export function render(text, folder) {
  const lines = text.split("\n");
  const blocks = [];
  const isBlock = (line) => /^(#{1,6} |```|~~~|> ?|\s*([-*+]|\d+[.)]) |\s*$|([-*_])( *\2){2,} *$)/.test(line);
  let at = 0;
  const take = (test) => {
    const from = at;
    while (at < lines.length && test(lines[at])) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at];
    const heading = /^(#{1,6}) +(.*?)#*$/.exec(line);
    const fence = /^(```|~~~)/.exec(line);
    if (!line.trim()) at += 1;
    else if (heading) {
      blocks.push(h("h" + heading[1].length, {}, inline(heading[2], folder)));
      at += 1;
    } else if (fence) {
      at += 1;
      blocks.push(h("pre", { tabIndex: 0 }, h("code", {}, take((one) => !one.startsWith(fence[1])).join("\n"))));
      at += 1;
    } else if (/^([-*_])( *\1){2,} *$/.test(line)) {
      blocks.push(h("hr"));
      at += 1;
    } else if (line.startsWith(">")) {
      blocks.push(h("blockquote", {}, render(take((one) => one.startsWith(">")).map((one) => one.replace(/^> ?/, "")).join("\n"), folder)));
    } else if (/^\s*([-*+]|\d+[.)]) /.test(line)) {
      const indent = /^\s*/.exec(line)[0].length;
      const own = new RegExp(`^\\s{0,${indent}}([-*+]|\\d+[.)]) `);
      const items = [];
      while (at < lines.length && own.test(lines[at])) {
        const head = lines[at].replace(own, "");
        at += 1;
        const below = take((one) => /^\s*$/.test(one) ? false : /^\s+/.exec(one)?.[0].length > indent);
        const task = /^\[([ xX])\] /.exec(head);
        items.push(h("li", {}, task && h("input", { type: "checkbox", disabled: true, checked: task[1] !== " " }), task ? " " : null,
          inline(task ? head.slice(4) : head, folder), below.length ? render(below.map((one) => one.trimStart()).join("\n"), folder) : null));
      }
      blocks.push(h(/^\s*\d/.test(line) ? "ol" : "ul", {}, items));
    } else if (line.includes("|") && /^[\s|:-]+$/.test(lines[at + 1] ?? "") && lines[at + 1].includes("-")) {
      at += 2;
      blocks.push(h("table", {}, h("thead", {}, h("tr", {}, cells(line).map((cell) => h("th", {}, inline(cell, folder))))),
        h("tbody", {}, take((one) => one.includes("|")).map((row) => h("tr", {}, cells(row).map((cell) => h("td", {}, inline(cell, folder))))))));
    } else {
      at += 1;
      blocks.push(h("p", {}, inline([line, ...take((one) => !isBlock(one))].join("\n"), folder)));
    }
  }
  return blocks;
}
