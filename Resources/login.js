// The log-in form.

import {apiAddress, boot, field, h, request, t} from "./app.js"

export function loginForm() {
	const user = h("input", {name: "user", autocomplete: "username", required: true, autocapitalize: "none"})
	const password = h("input", {type: "password", name: "password", autocomplete: "current-password", required: true})
	const wrong = h("p.danger", {role: "alert"}, boot.message)
	return h("form.login", {onsubmit: async event => {
		event.preventDefault()
		wrong.textContent = ""
		try {
			await request("POST", apiAddress("login"), {headers: {Accept: "application/json"},
				body: new URLSearchParams({user: user.value, password: password.value, return: location.pathname})})
			location.reload()
		} catch (error) {
			wrong.textContent = error.status === 401 ? t("User or password is wrong") : error.message
			password.select()
		}
	}}, h("h2", t("Log in")), field(t("User"), user), field(t("Password"), password), wrong,
	h("button.button.primary", {type: "submit"}, t("Log in")))
}
