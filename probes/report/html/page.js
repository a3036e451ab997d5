// Sorting and filtering: without this script the page says the same.
"use strict";
for (const table of document.querySelectorAll("table.sorted")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell === undefined ? "" : cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (head.textContent === "") return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const rises = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rises ? "ascending" : "descending");
      rows.sort((a, b) => compare(value(a, column), value(b, column)) * (rises ? 1 : -1));
      body.append(...rows);
    });
  });
  if (rows.length < 8) continue;
  const label = document.createElement("label");
  label.className = "filter";
  label.append("Filter rows");
  const input = document.createElement("input");
  input.type = "search";
  label.append(input);
  const count = document.createElement("output");
  label.append(count);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    count.textContent = rows.filter((row) => !row.hidden).length + " of " + rows.length;
  });
  table.closest(".scroll").before(label);
}
