// What the theme leaves without a name for people who listen to the page.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("details > summary:not([aria-label])")) {
    const link = summary.closest("li")?.querySelector("a");
    if (!summary.textContent.trim()) summary.setAttribute("aria-label", `Pages under ${link?.textContent.trim() ?? "this"}`);
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
  for (const head of document.querySelectorAll("th")) {
    if (!head.textContent.trim()) head.replaceWith(Object.assign(document.createElement("td"), { className: "head" }));
  }
  // On phones a column of long texts would be one word wide.
  for (const cell of document.querySelectorAll(".bd-content td")) {
    cell.classList.toggle("wordy", cell.textContent.length > 40);
  }
  document.querySelectorAll(".bd-content table").forEach(nameColumns);
  if (location.pathname.includes("/guide/")) {
    foldLongCode();
    letWidePicturesScroll();
  }
});

// Tables of words, as against those of numbers: on phones their rows become short lists (site.css).
const MOST_COLUMNS = 4;

function nameColumns(table) {
  const columns = [...(table.tHead?.rows[0]?.cells ?? [])].map((head) => head.textContent.trim());
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const wide = Math.max(0, ...rows.map((row) => row.cells.length));
  if (wide < 2 || wide > MOST_COLUMNS || !table.querySelector("td.wordy")) return;
  table.classList.add("words");
  for (const row of rows) {
    [...row.cells].forEach((cell, place) => {
      if (place > 0 && columns[place]) cell.dataset.column = columns[place].replace(/[^?]$/, "$&:");
    });
  }
}

// The guide is read for its pictures: code of more lines than this waits behind a line of text.
const MOST_LINES = 16;

function foldLongCode() {
  for (const block of document.querySelectorAll(".bd-content div[class*='highlight-'].notranslate")) {
    const lines = block.textContent.trimEnd().split("\n").length;
    if (lines <= MOST_LINES || block.closest(".sphx-glr-script-out")) continue;
    const folded = Object.assign(document.createElement("details"), { className: "code" });
    block.replaceWith(folded);
    folded.append(Object.assign(document.createElement("summary"), { textContent: `Show the code (${lines} lines)` }), block);
  }
}

function letWidePicturesScroll() {
  for (const picture of document.querySelectorAll("#comparing-algorithms img.sphx-glr-single-img")) {
    const frame = Object.assign(document.createElement("div"), { className: "wide-picture", tabIndex: 0 });
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "Picture, can be scrolled");
    picture.replaceWith(frame);
    frame.append(picture);
  }
}
