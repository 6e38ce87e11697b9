// Two designs side by side.

async function showVersus() {
  const place = document.getElementById("beside");
  const labels = [state.left, state.right];
  document.getElementById("versus-a").value = state.left;
  document.getElementById("versus-b").value = state.right;
  const designs = await Promise.all(labels.map(numbersOf));
  if (labels[0] !== state.left || labels[1] !== state.right) return;
  place.replaceChildren();
  const names = labels.map(nameOf);
  const figures = card("Figures and parameters", "Shaded: values that differ.", figuresTable(labels, names));
  if (designs.includes(null)) {
    const missing = labels[designs.indexOf(null)];
    place.append(figures, card("", "", element("p", {}, `The details of ${nameOf(missing)} are not included in this page. They are printed by: `, commandFor(missing))));
    return;
  }
  const costs = card("Costs by level", "Of one pass of each network.", costsTable(designs, names));
  const bars = card("Energy by level", "");
  place.append(element("div", { class: "pair" }, figures, costs), element("div", { class: "wide" }, bars));
  energyBars(bars, designs, names);
}

function figuresTable(labels, names) {
  const rows = labels.map((label) => study.rows[label]);
  const cells = study.heads.map(([head], at) => {
    const [a, b] = rows.map((row) => row[at] ?? null);
    const ratio = typeof a === "number" && typeof b === "number" && a ? b / a : null;
    return [head, a, b, ratio];
  }).slice(1);
  return tableOf(["", ...names, "right / left"], cells, (at) => ({ class: cells[at][1] === cells[at][2] ? null : "differs" }));
}

function costsTable(designs, names) {
  const rows = [];
  designs[0].networks.forEach((plan) => {
    const other = designs[1].networks.find((one) => one.network === plan.network);
    if (!other) return;
    const name = study.networks[plan.network].name;
    const add = (what, a, b) => rows.push([`${name}: ${what}`, a, b, a && b !== null ? b / a : null]);
    SUMS.forEach((head, i) => add(head, plan.sums[0][i], other.sums[0][i]));
    const levels = designs.map((design) => design.levels.map((level) => level[0]));
    [...new Set(levels.flat())].forEach((level) => {
      const energy = [plan, other].map((one, i) => one.sums[0][6][levels[i].indexOf(level)] ?? null);
      add(`${level} (uJ)`, ...energy);
    });
    add("compute (uJ)", plan.sums[0][7], other.sums[0][7]);
    add("leakage (uJ)", plan.sums[0][8], other.sums[0][8]);
    const fused = (one) => one.groups.filter((group) => group[0].length > 1).length;
    add("fused groups", fused(plan), fused(other));
  });
  return tableOf(["", ...names, "right / left"], rows);
}

function energyBars(parent, designs, names) {
  const plans = designs[0].networks.flatMap((plan) => {
    const other = designs[1].networks.find((one) => one.network === plan.network);
    return other ? [[0, plan], [1, other]] : [];
  });
  const rows = plans.map(([which, plan]) => escaped(`${study.networks[plan.network].name}, ${names[which]}`));
  const parts = [...new Set(designs.flatMap((design) => design.levels.map((level) => level[0]))), "compute", "leakage"];
  const value = ([which, plan], part) => {
    if (part === "compute") return plan.sums[0][7];
    if (part === "leakage") return plan.sums[0][8];
    return plan.sums[0][6][designs[which].levels.findIndex((level) => level[0] === part)] ?? 0;
  };
  plotIn(parent, parts.map((part, i) => ({
    type: "bar", orientation: "h", name: escaped(part), y: rows, x: plans.map((plan) => value(plan, part)),
    marker: { color: study.series[i % study.series.length] }, hovertemplate: `${escaped(part)}: %{x:.4g} uJ<extra>%{y}</extra>`,
  })), { height: 180 + 44 * rows.length, barmode: "stack", xaxis: { title: { text: "energy of one pass (uJ)" } }, yaxis: { autorange: "reversed" } });
}
