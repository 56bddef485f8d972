// The picture of the samples: a canvas for the points, one above it for marks, and a tooltip.

function noise(seed) { // two deterministic draws of a standard normal
  let z = (seed + 1) * 0x9e3779b1;
  const draw = () => {
    z = Math.imul(z ^ (z >>> 15), 0x85ebca6b) + 0x6d2b79f5 | 0;
    z ^= z >>> 13;
    return ((z >>> 0) + 0.5) / 4294967296;
  };
  const [length, angle] = [Math.sqrt(-2 * Math.log(draw())), 2 * Math.PI * draw()];
  return [length * Math.cos(angle), length * Math.sin(angle)];
}

const spread = () => (state.jitter ? SPREAD * Math.min(plot.clientWidth, plot.clientHeight) : 0);

function toPixels() { // from the grid to the picture, up is up
  const view = data.views[state.view];
  const padding = PADDING + 2.2 * spread();
  const [width, height] = [plot.clientWidth - 2 * padding, plot.clientHeight - 2 * padding];
  const unit = Math.min(width / (view.spans[0] || 1), height / (view.spans[1] || 1));
  const equal = view.spans[0] !== 1 || view.spans[1] !== 1;
  const across = equal ? unit * (view.spans[0] || 0) : width;
  const up = equal ? unit * (view.spans[1] || 0) : height;
  const [left, bottom] = [(plot.clientWidth - across) / 2, (plot.clientHeight + up) / 2];
  return ([a, b]) => [left + (a / view.grid) * across, bottom - (b / view.grid) * up];
}

function place() {
  const view = data.views[state.view];
  const pixels = toPixels();
  const size = spread();
  for (let i = 0; i < count; i += 1) {
    const [dx, dy] = size ? noise(i) : [0, 0];
    const [px, py] = pixels([view.x[i], view.y[i]]);
    x[i] = px + size * dx;
    y[i] = py + size * dy;
  }
}

function fresh(canvas) { // a canvas as sharp as the screen, wiped
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(plot.clientWidth * ratio);
  canvas.height = Math.round(plot.clientHeight * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return context;
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function draw() {
  if (!data.views.length || !plot.clientWidth) return;
  place();
  const context = fresh(byId("points"));
  const [faint, ink, ground] = [color("--faint"), color("--ink"), color("--page")];
  for (const dimmed of [true, false]) {
    for (let i = 0; i < count; i += 1) {
      if (Boolean(visible[i]) === dimmed) continue;
      drawPoint(context, i, dimmed ? faint : null, ink, ground);
    }
  }
  if (data.clusters.length > 1) drawNumbers(context, ink);
  drawMarks();
}

function drawPoint(context, i, faint, ink, ground) { // an outlier is hollow
  const path = paths[data.labels[i]];
  context.save();
  context.translate(x[i], y[i]);
  context.scale(radius, radius);
  context.globalAlpha = faint ? 0.5 : data.opacity[i] / 100;
  const own = faint ?? `#${data.colors.substr(6 * i, 6)}`;
  context.fillStyle = outlying(i) ? ground : own;
  context.fill(path);
  if (outlying(i)) {
    context.globalAlpha = faint ? 0.5 : 1;
    context.lineWidth = 2 / radius;
    context.strokeStyle = own;
    context.stroke(path);
  }
  if (!faint) {
    context.globalAlpha = 0.55;
    context.lineWidth = 0.7 / radius;
    context.strokeStyle = ink;
    context.stroke(path);
  }
  context.restore();
}

function drawNumbers(context, ink) {
  const pixels = toPixels();
  context.font = `700 ${data.clusters.length > 30 ? 11 : 15}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = color("--page");
  context.fillStyle = ink;
  data.views[state.view].middles.forEach((middle, j) => {
    if (!middle || (state.cluster !== null && state.cluster !== j)) return;
    const [px, py] = pixels(middle);
    context.strokeText(j, px, py);
    context.fillText(j, px, py);
  });
}

function drawMarks(box) { // rings round the samples the reader is at, and the rectangle
  const context = fresh(marks);
  const ring = (i, width) => {
    context.lineWidth = width;
    context.beginPath();
    context.arc(x[i], y[i], radius + 4, 0, 2 * Math.PI);
    context.stroke();
  };
  context.strokeStyle = color("--ink");
  if (state.hovered >= 0) ring(state.hovered, 1.5);
  if (state.focused >= 0 && document.activeElement === plot) ring(state.focused, 2);
  context.strokeStyle = color("--accent");
  if (state.chosen >= 0) ring(state.chosen, 3);
  if (box) {
    context.setLineDash([4, 3]);
    context.strokeRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  }
}

function showTip(i) {
  tip.hidden = i < 0;
  if (i < 0) return;
  const title = document.createElement("b");
  title.textContent = called(i);
  tip.replaceChildren(title, ...described(i).map((line) => Object.assign(document.createElement("div"), { textContent: line })));
  const left = x[i] + 12 + tip.offsetWidth < plot.clientWidth ? x[i] + 12 : x[i] - 12 - tip.offsetWidth;
  const top = Math.min(Math.max(y[i] - tip.offsetHeight / 2, 4), plot.clientHeight - tip.offsetHeight - 4);
  tip.style.left = `${Math.max(Math.min(left, plot.clientWidth - tip.offsetWidth - 4), 4)}px`;
  tip.style.top = `${Math.max(top, 4)}px`;
}

function nearest(px, py, reach) {
  let [best, found] = [reach * reach, -1];
  for (let i = 0; i < count; i += 1) {
    const distance = (x[i] - px) ** 2 + (y[i] - py) ** 2;
    if (visible[i] && distance <= best) [best, found] = [distance, i];
  }
  return found;
}

function choose(i) { // find its row, and mark it in picture and table
  state.chosen = i;
  state.hovered = -1;
  if (i >= 0) {
    const page = Math.floor(rows.indexOf(i) / PAGE);
    if (page !== state.page) {
      state.page = page;
      fillTable();
    }
    state.focused = i;
    byId("said").textContent = `${called(i)} selected, ${described(i).join(", ")}`;
  }
  markRow(true);
  drawMarks();
  showTip(i);
}

function keepBox(box) {
  state.boxed = Uint8Array.from(x, (px, i) => (
    visible[i] && px >= box.left && px <= box.right && y[i] >= box.top && y[i] <= box.bottom ? 1 : 0
  ));
  update();
}

const between = ([ax, ay], [bx, by]) => ({
  left: Math.min(ax, bx), right: Math.max(ax, bx), top: Math.min(ay, by), bottom: Math.max(ay, by),
});

function listenToPointer() {
  let start = null;
  const at = (event) => {
    const frame = plot.getBoundingClientRect();
    return [event.clientX - frame.left - plot.clientLeft, event.clientY - frame.top - plot.clientTop];
  };
  const dragged = (point) => start && Math.hypot(point[0] - start[0], point[1] - start[1]) > DRAG;
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = at(event);
    if (event.pointerType !== "touch") plot.setPointerCapture(event.pointerId); // a finger scrolls the page
  });
  plot.addEventListener("pointermove", (event) => {
    const point = at(event);
    if (event.pointerType !== "touch" && dragged(point)) return drawMarks(between(start, point));
    state.hovered = nearest(...point, REACH);
    drawMarks();
    showTip(state.hovered >= 0 ? state.hovered : state.chosen);
  });
  plot.addEventListener("pointerup", (event) => {
    const point = at(event);
    if (event.pointerType !== "touch" && dragged(point)) keepBox(between(start, point));
    else if (start) choose(nearest(...point, REACH));
    start = null;
  });
  plot.addEventListener("pointercancel", () => { start = null; });
  plot.addEventListener("pointerleave", () => {
    state.hovered = -1;
    drawMarks();
    showTip(state.chosen);
  });
}

function neighbour(i, dx, dy) { // the next sample in a direction; one aside counts as farther
  let [best, found] = [Infinity, i];
  for (const j of rows) {
    const along = (x[j] - x[i]) * dx + (y[j] - y[i]) * dy;
    const aside = Math.abs((x[j] - x[i]) * dy) + Math.abs((y[j] - y[i]) * dx);
    if (along > 0.5 && along + 2 * aside < best) [best, found] = [along + 2 * aside, j];
  }
  return found;
}

function focusOn(i) {
  state.focused = i;
  byId("said").textContent = `${called(i)}, ${described(i).slice(0, 3).join(", ")}`;
  drawMarks();
  showTip(i);
}

function setCorner() {
  const here = [x[state.focused], y[state.focused]];
  const box = state.corner && between(state.corner, here);
  state.corner = state.corner ? null : here;
  if (box) keepBox(box);
  else byId("said").textContent = "first corner set; go to the other and press B";
}

function listenToKeys() {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const middle = () => nearest(plot.clientWidth / 2, plot.clientHeight / 2, Infinity);
  const deeds = {
    Enter: () => choose(state.focused), " ": () => choose(state.focused), b: setCorner,
    Home: () => focusOn(rows[0]), End: () => focusOn(rows.at(-1)),
    Escape: () => { Object.assign(state, { corner: null, boxed: null, chosen: -1, focused: -1 }); showTip(-1); update(); },
  };
  plot.addEventListener("keydown", (event) => {
    const known = arrows[event.key] || deeds[event.key];
    if (!known || !rows.length || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (state.focused < 0 && event.key !== "Escape") return focusOn(middle());
    if (arrows[event.key]) focusOn(neighbour(state.focused, ...arrows[event.key]));
    else deeds[event.key]();
  });
  plot.addEventListener("focus", () => drawMarks());
  plot.addEventListener("blur", () => { drawMarks(); showTip(state.chosen); });
}
