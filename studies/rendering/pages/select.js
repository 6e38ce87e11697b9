// Designs that are selected: in one plot or table, highlighted in all others.

const selected = new Set();

function selectDesigns(labels, from = null) {
  selected.clear();
  labels.forEach((label) => selected.add(label));
  showSelection(from);
}

function toggleDesign(label) {
  if (!selected.delete(label)) selected.add(label);
  showSelection();
}

function showSelection(from = null) {
  const names = [...selected];
  const said = document.getElementById("selected");
  if (said) {
    const more = names.length > 12 ? ` and ${names.length - 12} more` : "";
    said.textContent = names.length ? `Selected: ${names.slice(0, 12).join(", ")}${more}.` : "Nothing is selected.";
  }
  document.querySelectorAll("tr[data-design]").forEach((row) => {
    row.classList.toggle("selected", selected.has(row.dataset.design));
  });
  document.querySelectorAll(".plot[data-linked]").forEach((place) => {
    if (place !== from) highlight(place);
  });
}

// Draws a figure whose traces say in customdata (for each point) or meta which design they show.
async function drawLinked(place, figure, texts) {
  for (const trace of figure.data) {
    if (trace.hoverinfo === "text" && trace.customdata) trace.hovertext = trace.customdata.map((label) => texts[label]);
    if (trace.type === "scatter" && trace.customdata) trace.unselected = { marker: { opacity: 0.15 } };
    if (trace.type === "scatter3d" || trace.type === "parcoords") trace.own = (trace.marker || trace.line).color;
  }
  place.dataset.linked = "yes";
  await draw(place, figure);
  if (figure.data.some((trace) => trace.type === "parcoords")) {
    place.on("plotly_restyle", ([changed]) => {
      if (Object.keys(changed).some((key) => key.endsWith("constraintrange"))) selectDesigns(brushed(place.data[0]), place);
    });
  } else {
    place.on("plotly_selected", (event) => {
      if (event) selectDesigns(labelsOf(event.points), place);
    });
    place.on("plotly_deselect", () => selectDesigns([]));
    place.on("plotly_click", (event) => labelsOf(event.points).slice(0, 1).forEach(toggleDesign));
  }
  highlight(place);
}

function labelsOf(points) {
  return points.map((point) => point.customdata ?? point.data.meta?.design).filter((label) => label !== undefined);
}

// Designs within the ranges that are dragged along axes of parallel coordinates; none without any.
function brushed(trace) {
  const ranged = trace.dimensions.filter((axis) => axis.constraintrange);
  if (!ranged.length) return [];
  const inside = (value, range) => range[0] <= value && value <= range[1];
  const kept = (axis, at) => [axis.constraintrange].flat(axis.constraintrange[0].length ? 1 : 0)
    .some((range) => inside(axis.values[at], range));
  return trace.customdata.filter((_, at) => ranged.every((axis) => kept(axis, at)));
}

function highlight(place) {
  const traces = place.data;
  if (traces[0].type === "parcoords") {
    highlightLines(place, traces[0]);
  } else if (traces[0].type === "scatter3d") {
    const colours = traces.map((trace) => trace.customdata.map((label) => (pale(label) ? "#e4e8ed" : trace.own)));
    Plotly.restyle(place, { "marker.color": colours });
  } else if (traces.some((trace) => trace.meta)) {
    Plotly.restyle(place, { opacity: traces.map((trace) => (pale(trace.meta?.design) ? 0.12 : 1)) });
  } else {
    const points = traces.map((trace) => (selected.size && trace.customdata ? positions(trace.customdata) : null));
    Plotly.restyle(place, { selectedpoints: points });
  }
}

function pale(label) {
  return selected.size > 0 && !selected.has(label);
}

function positions(labels) {
  return labels.flatMap((label, at) => (selected.has(label) ? [at] : []));
}

// Of parallel coordinates a fifth of the colour scale, below all values, is grey.
function highlightLines(place, trace) {
  const lit = selected.size ? selected : new Set(study.front);
  const values = trace.own, low = Math.min(...values), high = Math.max(Math.max(...values), low + 1e-9);
  const grey = low - (high - low) / 4;
  const scale = [[0, "#dfe4ea"], [0.19, "#dfe4ea"], ...SCALE.map(([at, colour]) => [0.2 + 0.8 * at, colour])];
  const colours = values.map((value, at) => (lit.has(trace.customdata[at]) ? value : grey));
  Plotly.restyle(place, { "line.color": [colours], "line.cmin": grey, "line.cmax": high, "line.colorscale": [scale] });
}

const SCALE = [[0, "#440154"], [0.35, "#31688e"], [0.7, "#2aa37a"], [1, "#a3d42f"]];
