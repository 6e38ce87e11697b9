// A network's graph with the groups of a plan, as SVG.

function shape(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The points of a line: x and y in turn.
function pointsOf(line) {
  const points = [];
  for (let i = 0; i < line.length; i += 2) points.push(`${line[i]},${line[i + 1]}`);
  return points.join(" ");
}

// Returns the picture, and how to mark the layer that is chosen.
function graphOf(graph, plan, choose) {
  const edge = 16, top = 18;
  const size = { width: graph.width + 2 * edge, height: graph.height + 2 * edge + top };
  const view = `${-edge} ${-edge - top} ${size.width} ${size.height}`;
  const svg = shape("svg", { ...size, viewBox: view, class: "graph", role: "img", "aria-label": "the network's layers" });
  plan.fused.forEach((group, number) => svg.append(enclosure(graph, group, study.groupColours[number % study.groupColours.length])));
  graph.lines.forEach((line) => svg.append(shape("polyline", { points: pointsOf(line), class: "edge" })));
  plan.pinned.forEach((at) => svg.append(shape("polyline", { points: pointsOf(graph.lines[at]), class: "kept" })));
  const nodes = graph.nodes.map((node) => nodeOf(graph, node));
  const layerOf = new Map();
  svg.append(...nodes);
  graph.far.forEach(([x0, y0, x1, y1, tip]) => svg.append(shape("line", { x1: x0, y1: y0, x2: x1, y2: y1, class: "far" },
    shape("title", {}, tip))));
  plan.fused.forEach((group, number) => svg.append(groupLabel(graph, group, study.groupColours[number % study.groupColours.length])));
  return { svg, mark: (name) => nodes.forEach((made, i) => made.classList.toggle("chosen", graph.nodes[i][0] === name)),
    listen: () => nodes.forEach((made, i) => made.addEventListener("click", () => choose(graph.nodes[i][0]))) };
}

function enclosure(graph, [, about, members, lines], [fill, border]) {
  const pad = 7, parts = [];
  for (const [colour, more] of [[border, 1.5], [fill, 0]]) {
    for (const at of members) {
      const [, , x, y, width, height] = graph.nodes[at];
      const reach = pad + more;
      parts.push(shape("rect", { x: x - width / 2 - reach, y: y - height / 2 - reach, width: width + 2 * reach,
        height: height + 2 * reach, rx: 4, fill: colour }));
    }
    for (const at of lines) {
      parts.push(shape("polyline", { points: pointsOf(graph.lines[at]), fill: "none", stroke: colour,
        "stroke-width": 2 * (pad + more), "stroke-linejoin": "round" }));
    }
  }
  return shape("g", {}, shape("title", {}, about), ...parts);
}

function groupLabel(graph, [label, about, members], [fill, , ink]) {
  const [, , x, y, width, height] = graph.nodes[members[0]];
  const left = x - width / 2 - 7, above = y - height / 2 - 7;
  return shape("g", {}, shape("title", {}, about),
    shape("rect", { x: left - 2, y: above - 11, width: label.length * 5.4 + 8, height: 12, fill }),
    shape("text", { x: left, y: above - 5, fill: ink, "font-size": 9, class: "begins" }, label));
}

function nodeOf(graph, [name, kind, x, y, width, height, note, about]) {
  const [kindName, colour] = graph.kinds[kind];
  const pale = kindName === "input";
  const long = name.length > 26 ? `…${name.slice(-25)}` : name;
  const up = graph.detailed ? 6 : 0;
  const made = shape("g", { class: "node" }, shape("title", {}, about),
    shape("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 4, fill: colour, stroke: pale ? INK : "none" }));
  if (!name) return made;
  const ink = pale ? INK : "white";
  made.append(shape("text", { x, y: y - up, fill: ink, "font-size": 11 }, long));
  if (graph.detailed) made.append(shape("text", { x, y: y + 9, fill: ink, "font-size": 9 }, note));
  return made;
}

function kindsLegend(graph) {
  const used = new Set(graph.nodes.map((node) => node[1]));
  const items = graph.kinds.flatMap(([name, colour], kind) => (used.has(kind)
    ? [element("span", { class: "key" }, element("i", { style: `background:${colour}` }), name)] : []));
  return element("p", { class: "keys" }, ...items);
}
