export const boot = JSON.parse(document.getElementById("boot").textContent);
