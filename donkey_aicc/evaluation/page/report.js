// Tables can be sorted by a click on a heading: down, up, and back to the order of the report. Nothing else needs a script.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], given = [...body.rows], headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => heading.firstElementChild.addEventListener("click", () => {
    const next = { ascending: "descending", descending: "none" }[heading.ariaSort] || "ascending";
    for (const other of headings) other.removeAttribute("aria-sort");
    if (next !== "none") heading.setAttribute("aria-sort", next);
    body.replaceChildren(...(next === "none" ? given : sorted(given.filter((row) => !row.matches(".group")), column, next)));
  }));
}

function sorted(rows, column, order) {
  const sign = order === "ascending" ? 1 : -1;
  const keys = new Map(rows.map((row) => [row, key(row.cells[column].firstChild?.textContent || "")]));
  return rows.toSorted((a, b) => {
    const [x, y] = [keys.get(a), keys.get(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // no number: always last
    return sign * (typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x - y);
  });
}

function key(text) {
  const shown = text.trim();
  if (shown === "" || shown === "–") return NaN;
  const number = Number(shown.split(" ")[0]);
  return Number.isNaN(number) ? shown : number;
}

addEventListener("beforeprint", () => { for (const details of document.querySelectorAll("details")) details.open = true; });
