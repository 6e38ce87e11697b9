// Plots of one network on one design: costs by level and by layer, roofline, buffer over time.

// Names of layers along an axis: every so many of them, and of long ones the end.
function layerAxis(names) {
  const every = Math.ceil(names.length / 40);
  const at = names.map((_, i) => i).filter((i) => i % every === 0);
  const short = (name) => (name.length > 22 ? `…${name.slice(-21)}` : name);
  return {
    tickmode: "array", tickvals: at, ticktext: at.map((i) => escaped(short(names[i]))), tickangle: -50,
    range: [-0.7, names.length - 0.3], showgrid: false,
  };
}

function levelPlot(parent, design, plan) {
  const rows = ["this plan", "unfused"];
  const parts = [...design.levels.map((level) => level[0]), "compute", "leakage"];
  const values = plan.sums.map((sums) => [...sums[6], sums[7], sums[8]]);
  const data = parts.map((part, i) => ({
    type: "bar", orientation: "h", name: escaped(part), y: rows, x: values.map((row) => row[i]),
    marker: { color: study.series[i % study.series.length] },
    hovertemplate: `${escaped(part)}: %{x:.4g} uJ<extra>%{y}</extra>`,
  }));
  plotIn(parent, data, {
    height: 270, barmode: "stack", xaxis: { title: { text: "energy of one pass (uJ)" } }, yaxis: { autorange: "reversed" },
  });
}

function trafficPlot(parent, plan) {
  const rows = ["this plan", "unfused"];
  const data = [["read", 4], ["written", 5]].map(([name, at], i) => ({
    type: "bar", orientation: "h", name, y: rows, x: plan.sums.map((sums) => sums[at]),
    marker: { color: study.series[i] }, hovertemplate: `${name}: %{x:,.4g} KiB<extra>%{y}</extra>`,
  }));
  plotIn(parent, data, {
    height: 270, barmode: "stack", xaxis: { title: { text: "DRAM traffic of one pass (KiB)" } }, yaxis: { autorange: "reversed" },
  });
}

// Cycles that compute, and each level, are busy with a layer at least.
function busyCycles(design, network, layer) {
  const [at, , operations, , , , words] = layer;
  const unit = network.layers[at][2] ? design.macs : design.lanes;
  const levels = words.map((count, i) => (design.rates[i] ? count / design.rates[i] : 0));
  return [operations / unit, ...levels];
}

function busyPlot(parent, design, network, plan) {
  const names = ["compute", ...design.levels.map((level) => level[0])];
  const busy = names.map(() => 0);
  for (const layer of plan.layers) busyCycles(design, network, layer).forEach((cycles, i) => { busy[i] += cycles; });
  const waiting = plan.groups.reduce((sum, group) => sum + group[8], 0);
  const rows = [...names.map((name) => `${name} busy`), "waiting for memory", "latency of the plan"];
  const values = [...busy, waiting, plan.sums[0][2]];
  const colours = [...names.map((_, i) => levelColour(i)), FADED, INK];
  plotIn(parent, [{
    type: "bar", orientation: "h", y: rows.map(escaped), x: values, marker: { color: colours },
    hovertemplate: "%{y}: %{x:,.0f} cycles<extra></extra>",
  }], { height: 110 + 30 * rows.length, margin: { l: 70, r: 20, t: 40, b: 50 }, xaxis: { title: { text: "cycles of one pass" } }, yaxis: { autorange: "reversed" } });
}

// Compute has the colour that it has among energies, so have levels.
function levelColour(i) {
  const count = study.series.length;
  return i === 0 ? study.series[(count - 1) % count] : study.series[(i - 1) % count];
}

function energyByLayer(parent, design, network, plan, choose) {
  const names = plan.layers.map((layer) => network.layers[layer[0]][0]);
  const parts = [...design.levels.map((level) => level[0]), "compute"];
  const value = (layer, i) => (i < layer[5].length ? layer[5][i] : layer[4]);
  const data = parts.map((part, i) => ({
    type: "bar", name: escaped(part), x: names.map((_, at) => at), y: plan.layers.map((layer) => value(layer, i)),
    customdata: names.map(escaped), marker: { color: study.series[i % study.series.length] },
    hovertemplate: `%{customdata}<br>${escaped(part)}: %{y:.4g} uJ<extra></extra>`,
  }));
  const place = plotIn(parent, data, {
    height: 400, barmode: "stack", xaxis: layerAxis(names), yaxis: { title: { text: "energy (uJ)" } },
  });
  onLayer(place, plan, choose);
}

function latencyByLayer(parent, design, network, plan, choose) {
  const names = plan.layers.map((layer) => network.layers[layer[0]][0]);
  const resources = ["compute", ...design.levels.map((level) => level[0])];
  const busy = plan.layers.map((layer) => busyCycles(design, network, layer));
  const longest = busy.map((cycles) => cycles.indexOf(Math.max(...cycles)));
  const text = plan.layers.map((layer, at) =>
    [`${escaped(names[at])}: ${shown(layer[3])} cycles`,
      ...resources.map((name, i) => `${escaped(name)} busy ${shown(Math.round(busy[at][i]))}`)].join("<br>"));
  const data = resources.map((name, i) => {
    const at = longest.flatMap((which, place) => (which === i ? [place] : []));
    return {
      type: "bar", name: `longest busy: ${escaped(name)}`, x: at, y: at.map((place) => plan.layers[place][3]),
      marker: { color: levelColour(i) }, hovertext: at.map((place) => text[place]), hoverinfo: "text",
    };
  }).filter((trace) => trace.x.length);
  const waits = plan.groups.flatMap((group, number) => {
    const last = plan.layers.findLastIndex((layer) => layer[1] === number);
    return group[8] ? [[last, group[8], number]] : [];
  });
  if (waits.length) {
    data.push({
      type: "bar", name: "its group waits for memory", x: waits.map((wait) => wait[0]), y: waits.map((wait) => wait[1]),
      marker: { color: FADED }, hovertext: waits.map((wait) => `group ${wait[2]} waits ${shown(wait[1])} cycles`), hoverinfo: "text",
    });
  }
  const place = plotIn(parent, data, {
    height: 400, barmode: "stack", xaxis: layerAxis(names), yaxis: { title: { text: "latency (cycles)" } },
  });
  onLayer(place, plan, choose);
}

function onLayer(place, plan, choose) {
  place.on("plotly_click", (event) => choose(plan.layers[event.points[0].x][0]));
}

// Every layer below the roofs of MACs, vector lanes and DRAM; returns how to mark a layer.
function roofline(parent, design, network, plan, choose) {
  const rate = design.rates.at(-1) * design.word_bytes;
  const dram = (layer) => layer[6].at(-1) * design.word_bytes;
  const points = plan.layers.filter((layer) => layer[2] > 0 && layer[3] > 0);
  const known = points.filter((layer) => dram(layer) > 0).map((layer) => layer[2] / dram(layer));
  const low = Math.min(0.1, ...known) / 2, high = Math.max(design.macs / rate, 1, ...known) * 4;
  const roof = (peak, name, colour) => ({
    type: "scatter", mode: "lines", name, x: [low, peak / rate, high * 2], y: [low * rate, peak, peak],
    line: { color: colour, width: 1.6 }, hoverinfo: "skip",
  });
  const marks = (uses, name, colour) => {
    const own = points.filter((layer) => network.layers[layer[0]][2] === uses);
    return {
      type: "scatter", mode: "markers", name, x: own.map((layer) => (dram(layer) > 0 ? layer[2] / dram(layer) : high)),
      y: own.map((layer) => layer[2] / layer[3]), customdata: own.map((layer) => layer[0]), hoverinfo: "text",
      hovertext: own.map((layer) => `${escaped(network.layers[layer[0]][0])}<br>${shown(layer[2] / layer[3])} operations per cycle`
        + `<br>${dram(layer) > 0 ? `${shown(layer[2] / dram(layer))} operations per byte of DRAM traffic` : "no DRAM traffic"}`),
      marker: { color: colour, size: 9, line: { color: "white", width: 0.7 },
        symbol: own.map((layer) => (dram(layer) > 0 ? "circle" : "triangle-right")) },
      unselected: { marker: { opacity: 0.3 } },
    };
  };
  const place = plotIn(parent, [
    roof(design.macs, `${shown(design.macs)} MACs`, study.series[0]),
    roof(design.lanes, `${shown(design.lanes)} vector lanes`, study.series[1]),
    marks(true, "layers on MACs", study.series[0]), marks(false, "layers on the vector unit", study.series[1]),
  ], {
    height: 430, hovermode: "closest",
    xaxis: { type: "log", title: { text: "operations per byte of DRAM traffic" }, dtick: 1, range: [Math.log10(low), Math.log10(high * 1.5)], exponentformat: "power" },
    yaxis: { type: "log", title: { text: "operations per cycle" }, dtick: 1, exponentformat: "power" },
  });
  place.on("plotly_click", (event) => {
    if (event.points[0].customdata !== undefined) choose(event.points[0].customdata);
  });
  return (chosen) => Plotly.restyle(place, {
    selectedpoints: place.data.map((trace) => {
      const at = trace.customdata ? trace.customdata.indexOf(chosen) : -1;
      return trace.customdata ? (at < 0 ? [] : [at]) : null;
    }),
  });
}

// What the shared buffer holds over one pass, box by box.
function bufferPlot(parent, buffer) {
  const kinds = [...new Set(buffer.looks.map((look) => look[0]))];
  const data = kinds.map((kind) => {
    const boxes = buffer.boxes.filter((box) => buffer.looks[box[1]][0] === kind);
    return {
      type: "bar", name: escaped(kind), x: boxes.map((box) => (box[2] + box[3]) / 2), width: boxes.map((box) => box[3] - box[2]),
      base: boxes.map((box) => box[4]), y: boxes.map((box) => box[5] - box[4]), hoverinfo: "text",
      marker: { color: boxes.map((box) => buffer.looks[box[1]][1]), line: { width: 0 },
        pattern: { shape: kind.startsWith("hatched") ? "/" : "", fgcolor: "white", size: 6 } },
      hovertext: boxes.map((box) => `${escaped(buffer.names[box[0]] || kind)}: ${shown(box[5] - box[4])} KiB`
        + `<br>cycles ${shown(Math.round(box[2]))} to ${shown(Math.round(box[3]))}`),
    };
  });
  const peak = Math.max(0, ...buffer.boxes.map((box) => box[5]));
  const low = peak < 0.35 * buffer.capacity;
  const top = 1.08 * (low ? peak || buffer.capacity : buffer.capacity);
  const said = `capacity ${shown(buffer.capacity)} KiB${low ? ", far above" : ""}`;
  const note = { text: said, showarrow: false, font: { color: ACCENT, size: 12 }, xref: "paper", x: 1, xanchor: "right", yanchor: "bottom" };
  plotIn(parent, data, {
    height: 430, barmode: "overlay", hovermode: "closest", bargap: 0,
    xaxis: { title: { text: "cycles" }, range: [0, buffer.cycles] },
    yaxis: { title: { text: `KiB in ${escaped(buffer.level)}` }, range: [0, top] },
    shapes: low ? [] : [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: buffer.capacity, y1: buffer.capacity, line: { color: ACCENT, dash: "dash", width: 1.4 } }],
    annotations: [low ? { ...note, yref: "paper", y: 0.96 } : { ...note, y: buffer.capacity }],
  });
}
