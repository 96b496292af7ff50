"use strict";
// Theme: the reader's choice wins over the system's and is forgotten with the page.
const theme = document.getElementById("theme");
theme.addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  theme.setAttribute("aria-pressed", String(next === "dark"));
});
// Sorting: times and sizes by value, whatever their unit; words by letter.
const units = { us: 1, ms: 1e3, s: 1e6 };
function value(text) {
  const power = /^2\^(\d+)$/.exec(text);
  if (power) return 2 ** Number(power[1]);
  const time = /^([\d.]+) (us|ms|s)\b/.exec(text);
  if (time) return Number(time[1]) * units[time[2]];
  const number = parseFloat(text.replace(/,/g, ""));
  return Number.isNaN(number) ? text : number;
}
for (const table of document.querySelectorAll("table.rows")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const x = value(a.cells[column].textContent.trim()), y = value(b.cells[column].textContent.trim());
      const order = typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? -1 : 1;
      return up ? order : -order;
    });
    table.tBodies[0].append(...rows);
  }));
}
