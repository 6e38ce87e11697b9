// A page that is served while its study runs asks now and then what is new, and shows it.

const ASK_MS = 2000;
let version = null;

async function look() {
  const said = document.getElementById("live");
  try {
    const now = await (await fetch("status.json", { cache: "no-store" })).json();
    said.textContent = `Live: ${now.text}`;
    if (version !== null && version !== now.version) await renew();
    version = now.version;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    said.textContent = "Live: the server does not answer; this is its last state.";
  }
  setTimeout(look, ASK_MS);
}

// Puts what is new in place of what there is; what was opened, selected or unfolded stays so.
async function renew() {
  const body = await (await fetch("body.html", { cache: "no-store" })).text();
  const open = [...document.querySelectorAll("main > * details[id][open]")].map((one) => one.id);
  const said = document.getElementById("live").textContent;
  const down = window.scrollY;
  document.querySelectorAll(".plot").forEach((place) => Plotly.purge(place));
  document.querySelector("main").innerHTML = body;
  document.getElementById("live").textContent = said;
  open.forEach((id) => { document.getElementById(id).open = true; });
  dressTables(document);
  await drawStudy();
  window.scrollTo(0, down);
}

look();
