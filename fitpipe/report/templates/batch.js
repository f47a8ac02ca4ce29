"use strict";
/* Filters and sorts the table of takes. */

function startBatch() {
  const table = document.getElementById("takes");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const find = document.getElementById("find");
  const words = [...document.querySelectorAll("[name=word]")];
  const warned = document.getElementById("with-warnings");

  function filter() {
    const text = find.value.trim().toLowerCase();
    const wanted = new Set(words.filter((box) => box.checked).map((box) => box.value));
    let n = 0;
    for (const row of rows) {
      const fits = wanted.has(row.dataset.word)
        && (!warned.checked || Number(row.dataset.warnings) > 0)
        && (!text || `${row.cells[0].textContent} ${(row.querySelector(".message") || row.cells[0]).textContent}`.toLowerCase().includes(text));
      row.hidden = !fits;
      n += fits ? 1 : 0;
    }
    document.getElementById("shown").textContent = `${n} of ${rows.length} shown`;
    document.getElementById("nothing").hidden = n > 0;
  }

  function sort(head) {
    const column = head.cellIndex;
    const isText = head.querySelector("button").dataset.sort === "text";
    const up = head.getAttribute("aria-sort") === (isText ? "ascending" : "descending");
    const direction = up === isText ? "descending" : "ascending";
    for (const other of head.parentElement.cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const value = (row) => {
      const cell = row.cells[column];
      if (!cell || cell.dataset.value === undefined) return null;
      if (isText) return cell.dataset.value;
      const number = Number(cell.dataset.value);
      return Number.isNaN(number) ? null : number;
    };
    const keyed = rows.map((row) => [value(row), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // what has no value goes last
      return sign * (isText ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
    });
    body.append(...keyed.map(([, row]) => row));
  }

  for (const input of [find, warned, ...words]) input.addEventListener("input", filter);
  document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
  for (const head of table.tHead.rows[0].cells) {
    const button = head.querySelector("button");
    if (button) button.addEventListener("click", () => sort(head));
  }
  filter();
  document.documentElement.dataset.ready = "true";
}

startBatch();
