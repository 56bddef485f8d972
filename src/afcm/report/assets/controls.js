// Buttons and boxes, the surroundings, and the start.

function showView(k) {
  state.view = k;
  state.jitter = data.views[k].jitter;
  byId("jitter").checked = state.jitter;
  byId("axes").textContent = data.views[k].caption;
  state.corner = null;
  showTip(-1);
  draw();
}

function turnPage(step) {
  const page = state.page + step;
  if (page < 0 || page * PAGE >= rows.length) return;
  state.page = page;
  fillTable();
}

function showAll() {
  Object.assign(state, { cluster: null, only: false, outliers: "all", text: "", boxed: null, corner: null });
  byId("find").value = "";
  if (byId("only")) byId("only").checked = false;
  for (const radio of document.querySelectorAll("[name=outliers]")) radio.checked = radio.value === "all";
  update();
}

function chooseListed(i) { // from the list of ambiguous samples
  showAll();
  choose(i);
  plot.focus({ preventScroll: true });
  byId("samples").scrollIntoView();
}

function listenToControls() {
  const on = (id, event, deed) => byId(id)?.addEventListener(event, deed);
  for (const radio of document.querySelectorAll("[name=view]")) {
    radio.addEventListener("change", () => showView(Number(radio.value)));
  }
  for (const radio of document.querySelectorAll("[name=outliers]")) {
    radio.addEventListener("change", () => { state.outliers = radio.value; update(); });
  }
  for (const pick of document.querySelectorAll("[data-cluster]")) {
    const cluster = Number(pick.dataset.cluster);
    pick.addEventListener("click", () => { state.cluster = state.cluster === cluster ? null : cluster; update(); });
  }
  for (const listed of document.querySelectorAll("[data-sample]")) {
    listed.addEventListener("click", () => chooseListed(Number(listed.dataset.sample)));
  }
  on("jitter", "change", (event) => { state.jitter = event.target.checked; draw(); });
  on("only", "change", (event) => { state.only = event.target.checked; update(); });
  on("find", "input", (event) => { state.text = event.target.value.trim().toLowerCase(); update(); });
  on("reset", "click", showAll);
  on("csv", "click", download);
  on("previous", "click", () => turnPage(-1));
  on("next", "click", () => turnPage(1));
}

function listenToSurroundings() {
  document.addEventListener("theme", draw);
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(plot);
  matchMedia("print").addEventListener("change", draw);
  const print = (on) => { document.documentElement.toggleAttribute("data-printing", on); draw(); };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
}

fillHead();
listenToPointer();
listenToKeys();
listenToControls();
listenToSurroundings();
if (data.views.length) showView(0);
update();
