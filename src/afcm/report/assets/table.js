// The table of the samples and its download.

function cell(tag, content, className) {
  const element = document.createElement(tag);
  element.append(content);
  if (className) element.className = className;
  return element;
}

function button(text, deed) {
  const element = Object.assign(document.createElement("button"), { type: "button", className: "link", textContent: text });
  element.addEventListener("click", deed);
  return element;
}

function sortBy(k) {
  state.descending = state.column === k && !state.descending;
  state.column = k;
  update();
  [...document.querySelectorAll("#table thead th")].forEach((head, j) => {
    head.setAttribute("aria-sort", j !== k ? "none" : state.descending ? "descending" : "ascending");
  });
}

function fillHead() {
  const line = document.createElement("tr");
  table.forEach((column, k) => {
    const head = cell("th", button(column.name, () => sortBy(k)), column.numeric ? "num" : "");
    head.scope = "col";
    head.setAttribute("aria-sort", "none");
    line.append(head);
  });
  document.querySelector("#table thead").append(line);
}

function swatch(cluster) {
  const svg = document.querySelector(`[data-cluster="${cluster}"] svg`).cloneNode(true);
  const group = document.createDocumentFragment();
  group.append(svg, String(cluster));
  return group;
}

function row(i) {
  const line = document.createElement("tr");
  line.dataset.row = i;
  table.forEach((column, k) => {
    const content = k === 0 ? button(data.ids[i], () => choose(i)) : k === 1 ? swatch(data.labels[i]) : column.text(i);
    const element = cell(k === 0 ? "th" : "td", content, column.numeric ? "num" : "");
    if (column.strong?.(i)) element.classList.add("strong");
    if (k === 0) element.scope = "row";
    line.append(element);
  });
  if (data.ambiguity[i] >= data.threshold) line.className = "doubt";
  return line;
}

function fillTable() {
  const pages = Math.max(Math.ceil(rows.length / PAGE), 1);
  const start = state.page * PAGE;
  document.querySelector("#table tbody").replaceChildren(...rows.slice(start, start + PAGE).map(row));
  byId("page").textContent = `Page ${state.page + 1} of ${pages.toLocaleString("en")}`;
  byId("previous").setAttribute("aria-disabled", String(state.page === 0)); // `disabled` would lose the focus
  byId("next").setAttribute("aria-disabled", String(state.page >= pages - 1));
  markRow(false);
}

function markRow(scroll) {
  for (const line of document.querySelectorAll("#table tbody tr")) {
    const chosen = Number(line.dataset.row) === state.chosen;
    if (chosen) line.setAttribute("aria-current", "true");
    else line.removeAttribute("aria-current");
    if (chosen && scroll) line.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

function quoted(value, numeric) {
  if (value === null) return "";
  if (numeric) return String(value);
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value; // a spreadsheet would run it as a formula
  return `"${harmless.replaceAll('"', '""')}"`;
}

function download() {
  const lines = [table.map((column) => quoted(column.name, false)).join(",")];
  for (const i of rows) lines.push(table.map((column) => quoted(column.value(i), column.numeric)).join(","));
  const blob = new Blob([`\ufeff${lines.join("\r\n")}\r\n`], { type: "text/csv" });
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob) });
  link.download = `${data.name.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "samples"}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
