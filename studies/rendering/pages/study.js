// The page of a study: draws its plots, fills its tables, opens a design.

let study = null;
const state = { opened: null, left: null, right: null };

async function drawStudy() {
  const data = document.getElementById("data");
  if (data === null) return;
  study = await unpackedJson(data.textContent);
  unpackedDesigns.clear();
  const labels = Object.keys(study.rows);
  [...selected].filter((label) => !labels.includes(label)).forEach((label) => selected.delete(label));
  for (const [name, figure] of Object.entries(study.plots)) {
    await drawLinked(document.getElementById(name), figure, study.hover);
  }
  if (!labels.length) return;
  fillDesigns(labels);
  document.querySelectorAll("tr[data-design]").forEach(listenRow);
  document.getElementById("clear")?.addEventListener("click", clearSelection);
  chooseDesigns(labels);
  showSelection();
  await openDesign(state.opened);
  await showVersus();
}

function clearSelection() {
  document.querySelectorAll(".plot[data-linked]").forEach((place) => {
    if (place.layout.selections?.length) Plotly.relayout(place, { selections: [] });
    const ranges = (place.data[0].dimensions || []).map((_, i) => [`dimensions[${i}].constraintrange`, null]);
    if (ranges.length) Plotly.restyle(place, Object.fromEntries(ranges));
  });
  selectDesigns([]);
}

function fillDesigns(labels) {
  const place = document.getElementById("all-designs");
  const table = tableOf(study.heads, labels.map((label) => study.rows[label]), (at) => ({ "data-design": labels[at] }));
  table.querySelector(".scroll").classList.add("tall");
  place.append(table);
}

// A click on a row selects its design, one on its number opens it.
function listenRow(row) {
  const first = row.cells[0];
  const open = element("button", { type: "button", class: "link", title: "Open this design" }, first.textContent);
  first.replaceChildren(open);
  open.addEventListener("click", (event) => {
    event.stopPropagation();
    openDesign(row.dataset.design, true);
  });
  row.addEventListener("click", () => toggleDesign(row.dataset.design));
}

function chooseDesigns(labels) {
  const front = new Set(study.front);
  const word = (label) => (label === study.picked ? " (picked)" : front.has(label) ? " (front)" : "");
  const order = [...study.front, ...labels.filter((label) => !front.has(label))];
  const first = study.picked ?? order[0];
  const known = (label, other) => (label !== null && labels.includes(label) ? label : other);
  state.opened = known(state.opened, first);
  state.left = known(state.left, first);
  state.right = known(state.right, study.baseline ?? order.find((label) => label !== first) ?? first);
  const fill = (id, change) => {
    const pick = document.getElementById(id);
    pick.append(...order.map((label) => element("option", { value: label }, `${nameOf(label)}${word(label)}`)));
    pick.addEventListener("change", () => change(pick.value));
  };
  fill("open-design", (label) => openDesign(label));
  fill("versus-a", (label) => { state.left = label; showVersus(); });
  fill("versus-b", (label) => { state.right = label; showVersus(); });
}

start(drawStudy);
