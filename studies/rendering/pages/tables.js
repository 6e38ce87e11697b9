// Tables that are sorted by a click on a head, and written as CSV.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// Thousands grouped, four digits: as the texts that the page came with.
function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return value.toLocaleString("en-US");
  if (size < 1e-2 || size >= 1e15) return value.toExponential(3);
  if (size >= 1e3) return value.toLocaleString("en-US", { maximumFractionDigits: 1 });
  return String(Number(value.toPrecision(4)));
}

// heads: names, or [name, what it means]; rows: arrays of texts and numbers.
// attributes: for each row those of its element, such as the design that it is of.
function tableOf(heads, rows, attributes = () => ({})) {
  const right = heads.map((_, i) => rows.length > 0 && rows.every((row) => typeof row[i] !== "string"));
  const side = (i) => (right[i] ? "number" : null);
  const head = heads.map((text, i) => {
    const [name, help] = Array.isArray(text) ? text : [text, null];
    return element("th", { class: side(i), title: help }, name);
  });
  const body = rows.map((row, at) => {
    const cells = row.map((value, i) => {
      const raw = typeof value === "number" ? value : null;
      const short = typeof value === "string" && value.length <= 14 ? "short" : null;
      return element("td", { class: side(i) ?? short, "data-value": raw }, shown(value));
    });
    return element("tr", attributes(at), ...cells);
  });
  const table = element("table", { class: "data" },
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
  const whole = element("div", {}, element("div", { class: "scroll" }, table));
  dress(table);
  return whole;
}

function dressTables(root) {
  root.querySelectorAll("table.data").forEach(dress);
}

function dress(table) {
  const rows = table.tBodies[0].rows;
  if (table.dataset.dressed || rows.length < 1) return;
  table.dataset.dressed = "yes";
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.classList.add("sortable");
    head.tabIndex = 0;
    head.addEventListener("click", () => sortBy(table, heads, column));
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter") sortBy(table, heads, column);
    });
  });
  const save = element("button", { class: "tools", title: "Save this table as CSV", type: "button" }, "CSV");
  save.addEventListener("click", () => saveCsv(table));
  const box = table.closest(".scroll") || table;
  box.before(save);
}

function sortBy(table, heads, column) {
  const upwards = heads[column].getAttribute("aria-sort") !== "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", upwards ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows];
  const keys = new Map(rows.map((row) => [row, keyOf(row.cells[column])]));
  const sign = upwards ? 1 : -1;
  rows.sort((a, b) => sign * compareKeys(keys.get(a), keys.get(b)));
  table.tBodies[0].append(...rows);
}

function keyOf(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim();
  const number = Number(text.replaceAll(",", "").replace(/\s*%$/, ""));
  return text === "" ? null : Number.isNaN(number) ? text : number;
}

// Numbers first, then texts, then what is empty.
function compareKeys(a, b) {
  const kind = (key) => (key === null ? 2 : typeof key === "string" ? 1 : 0);
  if (kind(a) !== kind(b)) return kind(a) - kind(b);
  if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
  return a === null ? 0 : a - b;
}

function csvOf(table) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const value = (cell) => {
    const text = cell.textContent.trim().replace("\u00a0%", " %");
    return cell.dataset.value ?? (/^-?[\d,]+$/.test(text) ? text.replaceAll(",", "") : text);
  };
  const lines = [...table.rows].map((row) => [...row.cells].map((cell) => quoted(value(cell))).join(","));
  return `${lines.join("\n")}\n`;
}

function saveCsv(table) {
  const link = element("a", { download: `${table.dataset.name || "table"}.csv` });
  link.href = URL.createObjectURL(new Blob([csvOf(table)], { type: "text/csv" }));
  link.click();
  URL.revokeObjectURL(link.href);
}
