// Data that the page carries is compressed and written in letters (base64), to be small.

async function unpacked(text) {
  const letters = atob(text.trim());
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

async function unpackedJson(text) {
  return JSON.parse(await unpacked(text));
}

// Makes plotly ready, then calls what draws the page.
async function start(draw) {
  if (!("DecompressionStream" in window)) {
    const note = document.createElement("p");
    note.className = "warning";
    note.textContent = "This browser cannot unpack the plots; Chrome 80, Firefox 113, Safari 16.4 and later can.";
    document.querySelector("main").prepend(note);
    return;
  }
  const script = document.createElement("script");
  script.textContent = await unpacked(document.getElementById("plotly").textContent);
  document.head.append(script);
  dressTables(document);
  await draw();
  document.documentElement.dataset.drawn = "yes";
}
