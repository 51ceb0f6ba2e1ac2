// One request that reports how much of its body is on the way: fetch can't.

import { ApiError, messageFor } from "./app.js";

/** A connection on which nothing moves for so long is lost. */
const patience = 45_000;

/** Resolves to { status, header(name) }; throws an ApiError, with status 0 when no answer came. */
export function send(method, target, { headers, body, report, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let timer = null;
    const lost = () => reject(new ApiError(0, messageFor(0)));
    const moved = (event) => {
      clearTimeout(timer);
      // Once all is sent, the server may take its time to put it in place.
      timer = setTimeout(() => request.abort(), event?.loaded === event?.total && event ? patience * 20 : patience);
    };
    request.open(method, target);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => {
      moved(event);
      report?.(event.loaded);
    };
    request.onload = () => {
      const { status } = request;
      if (status >= 200 && status < 300) return resolve({ status, header: (name) => request.getResponseHeader(name) });
      const plain = (request.getResponseHeader("Content-Type") ?? "").startsWith("text/plain");
      return reject(new ApiError(status, messageFor(status, plain ? request.responseText : "")));
    };
    request.onerror = lost;
    request.onabort = lost;
    request.onloadend = () => clearTimeout(timer);
    if (signal?.aborted) return lost();
    signal?.addEventListener("abort", () => request.abort());
    moved();
    request.send(body);
    return undefined;
  });
}
