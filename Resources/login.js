// The log-in form. It is a plain form too, for browsers that post it themselves.

import { ApiError, apiAddress, boot, button, h, request, t } from "./app.js";

export function loginForm() {
  const user = h("input", { type: "text", name: "user", autocomplete: "username", required: true, autocapitalize: "none", spellcheck: false });
  const password = h("input", { type: "password", name: "password", autocomplete: "current-password", required: true });
  const wrong = h("p", { class: "wrong", role: "alert" }, boot.message ?? "");
  const field = (label, input) => h("label", { class: "field" }, h("span", {}, label), input);
  return h("form", { class: "login", method: "post", action: apiAddress("login"), onsubmit: async (event) => {
    event.preventDefault();
    wrong.textContent = "";
    try {
      await request("POST", apiAddress("login"), { headers: { Accept: "application/json" },
        body: new URLSearchParams({ user: user.value, password: password.value, return: location.pathname }) });
      location.reload();
    } catch (error) {
      wrong.textContent = error.status === 401 ? t("User or password is wrong.") : error.message;
      password.select();
    }
  } }, h("h2", {}, t("Log in")), field(t("User"), user), field(t("Password"), password),
  h("input", { type: "hidden", name: "return", value: location.pathname }), wrong,
  h("button", { type: "submit", class: "button primary" }, t("Log in")));
}
