// Plots: each element of class "plot" that carries a figure gets it drawn.

const CONFIG = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["toImage"] };
const INK = "#1f2933", FADED = "#b8c1cc", ACCENT = "#c2410c";
const FONT = "Inter, 'Segoe UI', Helvetica, Arial, sans-serif";

async function drawPlots(root) {
  for (const place of root.querySelectorAll(".plot[data-figure]")) {
    await draw(place, await unpackedJson(place.dataset.figure));
  }
}

function draw(place, figure) {
  place.style.minHeight = `${figure.layout.height}px`;
  const room = legendRoom(place, figure);
  if (room) figure.layout.margin.t = room;
  return Plotly.react(place, figure.data, figure.layout, CONFIG);
}

// Pixels above a plot whose legend is there, below its tools: it has more rows where it is narrow.
function legendRoom(place, { data, layout }) {
  const names = data.filter((trace) => trace.name && trace.showlegend !== false).map((trace) => trace.name.length);
  if (layout.width || !(layout.legend?.y >= 1) || names.length < 2) return null;
  const columns = Math.max(1, Math.floor((place.clientWidth - 120) / (48 + 7.2 * Math.max(...names))));
  return 44 + 20 * Math.ceil(names.length / columns);
}

window.addEventListener("resize", () => {
  document.querySelectorAll(".plot").forEach((place) => {
    const room = place.data && legendRoom(place, place);
    if (room && room !== place.layout.margin.t) Plotly.relayout(place, { "margin.t": room });
  });
});

// Adds a plot of our own below a parent; it is drawn once it has a width.
function plotIn(parent, data, layout) {
  const place = element("div", { class: "plot" });
  parent.append(place);
  draw(place, { data, layout: styled(layout) });
  return place;
}

// The looks of all plots: those of pictures/style.py.
function styled(layout) {
  const axis = (more = {}) => ({
    gridcolor: "#e4e8ed", zeroline: false, linecolor: "#9aa5b1", showline: true, automargin: true, ...more,
  });
  return {
    height: 360, font: { family: FONT, size: 13, color: INK }, paper_bgcolor: "white", plot_bgcolor: "white",
    margin: { l: 70, r: 20, t: 40, b: 50 }, bargap: 0.25,
    hoverlabel: { align: "left", bgcolor: "white", font: { family: FONT, size: 12 } },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" },
    ...layout, xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
  };
}

// Texts of users stand in plots, which read a subset of HTML.
function escaped(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
