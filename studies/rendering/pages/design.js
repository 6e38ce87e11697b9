// One design, opened: hardware, costs by level and layer, fusion plan, loop nests, buffer.

const unpackedDesigns = new Map();

// Returns the numbers of a design; null if the page does not have them.
async function numbersOf(label) {
  const designs = await partOf("numbers", "all");
  return Object.hasOwn(designs, label) ? withRows(designs[label]) : null;
}

// Layers come column by column, which packs better.
function withRows(design) {
  for (const plan of design.networks) {
    plan.layers ??= plan.columns[0].map((_, at) => plan.columns.map((column) => column[at]));
  }
  return design;
}

async function partOf(kind, label) {
  const key = `${kind} ${label}`;
  if (!unpackedDesigns.has(key)) {
    const holder = [...document.querySelectorAll(`script[data-${kind}]`)].find((one) => one.dataset[kind] === label);
    unpackedDesigns.set(key, holder ? await unpackedJson(holder.textContent) : null);
  }
  return unpackedDesigns.get(key);
}

function nameOf(label) {
  return label === study.baseline ? `baseline ${label}` : `trial ${label}`;
}

// The command that shows what the page leaves out; texts and code in turn.
function commandFor(label) {
  const which = label === study.baseline ? "baseline" : label;
  return element("code", {}, `archloom show DIR ${which}`);
}

function card(title, note, ...content) {
  const box = element("div", { class: "card" });
  if (title) box.append(element("h3", {}, title));
  if (note) box.append(element("p", { class: "soft" }, note));
  box.append(...content);
  return box;
}

function fold(title, ...content) {
  return element("details", {}, element("summary", {}, title), ...content);
}

async function openDesign(label, scroll = false) {
  state.opened = label;
  const place = document.getElementById("opened");
  document.getElementById("open-design").value = label;
  const design = await numbersOf(label), pictures = await partOf("pictures", label);
  if (state.opened !== label) return;
  place.replaceChildren();
  if (scroll) document.getElementById("design").scrollIntoView();
  if (design === null) {
    place.append(card("", "", element("p", {}, "The details of this design are not included in this page. They are printed by: ", commandFor(label))));
    return;
  }
  place.append(...hardwareCards(label, design));
  design.networks.forEach((plan, i) => networkCards(place, label, design, plan, pictures && pictures[i]));
}

function hardwareCards(label, design) {
  const row = study.rows[label], heads = study.heads;
  const figures = heads.slice(1, 1 + study.figures).map(([head], i) => `${head}: ${shown(row[i + 1])}`);
  const list = element("dl", {});
  for (const [name, value] of Object.entries(design.parameters)) list.append(element("dt", {}, name), element("dd", {}, String(value)));
  const levels = tableOf(["level", "technology", "tensors", "instances", "bytes per instance", "words per cycle per instance"], design.levels);
  const parts = [...design.parts, ["all", design.area_mm2, design.tdp_w]];
  const state = row[1 + study.figures];
  return [
    element("h3", { class: "opened" }, `${nameOf(label)}: ${figures.join(", ")} (${state})`),
    element("div", { class: "pair uneven" },
      card("Hardware", design.text, list, levels),
      card("Area and TDP by part", "", tableOf(["part", "area (mm²)", "TDP (W)"], parts))),
  ];
}

function networkCards(place, label, design, plan, more) {
  const network = study.networks[plan.network];
  const mine = plan.sums[0], other = plan.sums[1];
  place.append(element("h3", { class: "opened" }, `${network.name} on ${nameOf(label)}`));
  const note = `EDP ${shown(mine[0])} J s, ${shown(other[0] / mine[0])}x lower than unfused. `
    + `Mappings: ${plan.gaps}.${plan.spent ? ` Of a ${plan.spent}.` : ""}`;
  const pair = (...cards) => { const box = element("div", { class: "pair wide" }, ...cards); place.append(box); };
  const wide = (box) => { place.append(element("div", { class: "wide" }, box)); return box; };
  const sums = card("One pass", note, sumsTable(plan));
  const busy = card("Latency by level", "Minimum busy cycles of compute and of each level, and the latency of the plan.");
  pair(sums, busy);
  const energy = card("Energy by level", "This plan, and a plan without fused groups.");
  const traffic = card("DRAM traffic", "Fusion saves the traffic of feature maps that stay on the chip.");
  pair(energy, traffic);
  const byEnergy = wide(card("Energy by layer", "In the order of execution. Click a bar to select its layer."));
  const byTime = wide(card("Latency by layer", "Colour: the level that is busy longest; see the legend."));
  const roof = card("Roofline", "All layers. Click one to select it.");
  const nest = card("Loop nest", "");
  pair(roof, nest);
  const graph = wide(card(`Fusion plan of ${network.name}`, graphNote(network, plan)));
  const layers = layerTable(design, network, plan);
  const choose = chooser(network, plan, more, label, nest, graph, layers);
  busyPlot(busy, design, network, plan);
  levelPlot(energy, design, plan);
  trafficPlot(traffic, plan);
  energyByLayer(byEnergy, design, network, plan, choose.layer);
  latencyByLayer(byTime, design, network, plan, choose.layer);
  choose.marks.push(roofline(roof, design, network, plan, choose.layer));
  memoryCard(wide, label, more);
  if (plan.nests) wide(card("Loops around fused groups", "", element("div", { class: "scroll" }, element("pre", {}, plan.nests))));
  wide(card("", "", fold(`${plan.groups.length} groups of layers`, groupTable(network, plan)),
    fold(`${plan.layers.length} layers`, layers)));
  choose.layer(plan.layers[0][0]);
}

function graphNote(network, plan) {
  return `${network.about}. ${plan.fused.length ? "Coloured areas are fused groups" : "No layers are fused"}. Hover over a layer for details, click to select it.`;
}

// What happens where a layer is chosen: its nest is shown, its node, row and point are marked.
function chooser(network, plan, more, label, nest, graph, layers) {
  const marks = [];
  const named = new Map(network.layers.map(([name], at) => [name, at]));
  const pick = element("select", { "aria-label": "layer" },
    ...plan.layers.map(([at]) => element("option", { value: at }, network.layers[at][0])));
  const text = element("div", { class: "scroll nests" });
  nest.append(element("p", {}, element("label", {}, "Layer ", pick)), text);
  const layer = (at) => {
    pick.value = at;
    text.replaceChildren(...nestsOf(label, more, at));
    marks.forEach((mark) => mark(at));
  };
  pick.addEventListener("change", () => layer(Number(pick.value)));
  if (network.graph) {
    const drawn = graphOf(network.graph, plan, (name) => { if (named.has(name)) layer(named.get(name)); });
    drawn.listen();
    graph.append(kindsLegend(network.graph), element("div", { class: "scroll tall" }, drawn.svg));
    marks.push((at) => drawn.mark(network.layers[at][0]));
  } else {
    graph.append(element("p", {}, "The graph is too large for this page. It is drawn by: ", element("code", {}, "archloom networks NETWORK --out FILE.svg")));
  }
  layers.querySelectorAll("tr[data-layer]").forEach((row) => row.addEventListener("click", () => layer(Number(row.dataset.layer))));
  marks.push((at) => layers.querySelectorAll("tr[data-layer]").forEach((row) =>
    row.classList.toggle("selected", Number(row.dataset.layer) === at)));
  return { layer, marks };
}

function nestsOf(label, more, at) {
  if (!more) return [element("p", {}, "The loop nests of this design are not included in this page. They are printed by: ", commandFor(label))];
  const tiles = more.nests[at];
  if (!tiles) return [element("p", {}, "This layer runs on the vector unit, which has no mapping.")];
  return tiles.map(([times, covers, gap, lines]) =>
    element("div", {}, element("h4", {}, `${times}${covers || "one operation"} (${gap})`), element("pre", {}, lines)));
}

function memoryCard(wide, label, more) {
  const box = wide(card("The shared buffer over time", more && typeof more.buffer !== "string" ? "Contents over one pass of the plan." : ""));
  if (!more) box.append(element("p", {}, "Not included in this page for this design."));
  else if (typeof more.buffer === "string") box.append(element("p", {}, `Not available: ${more.buffer}.`));
  else bufferPlot(box, more.buffer);
}

const SUMS = ["EDP (J s)", "energy (uJ)", "latency (cycles)", "latency (ms)", "DRAM read (KiB)", "DRAM written (KiB)"];

function sumsTable(plan) {
  const rows = SUMS.map((name, i) => {
    const [mine, other] = plan.sums.map((sums) => sums[i]);
    return [name, mine, other, other ? mine / other : null];
  });
  return tableOf(["one pass", "this plan", "unfused", "ratio"], rows);
}

function groupTable(network, plan) {
  const names = (layers) => (layers.length <= 4 ? layers.map((at) => network.layers[at][0]).join(", ")
    : `${network.layers[layers[0]][0]} .. ${network.layers[layers.at(-1)][0]} (${layers.length} layers)`);
  const heads = ["group", "layers", "tiles", "resident weights", ...plan.kept, "peak KiB", "unfused DRAM KiB", "DRAM KiB", "cycles", "waiting"];
  return tableOf(heads, plan.groups.map(([layers, tiling, resident, kept, ...numbers], at) =>
    [at, names(layers), tiling, resident, ...kept, ...numbers]));
}

function layerTable(design, network, plan) {
  const heads = ["layer", "operator", "group", "operations", "cycles", ...design.levels.map((level) => `${level[0]} (uJ)`), "compute (uJ)", "all (uJ)", "gap"];
  const rows = plan.layers.map(([at, group, operations, cycles, compute, levels, , gap]) => {
    const all = levels.reduce((sum, energy) => sum + energy, compute);
    return [network.layers[at][0], network.layers[at][1], group, operations, cycles, ...levels, compute, all, gap];
  });
  return tableOf(heads, rows, (row) => ({ "data-layer": plan.layers[row][0] }));
}
