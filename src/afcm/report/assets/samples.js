// The samples, and which of them are shown. What the page shows is a function of `state`; every event changes it and calls `update`.

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const count = data.ids.length;
const PAGE = 20; // rows of the table
const REACH = 14; // pixels from the pointer to a sample
const DRAG = 5; // pixels that make a click a rectangle
const PADDING = 24;
const SPREAD = 0.028; // standard deviation of the jitter, in sizes of the picture
const plot = byId("plot");
const marks = byId("marks");
const tip = byId("tip");
const paths = data.clusters.map((shape) => new Path2D(shape));
const radius = count <= 300 ? 5 : count <= 2000 ? 4 : 2.8;
const collator = new Intl.Collator(undefined, { numeric: true });

const state = {
  view: 0, jitter: false, cluster: null, only: false, outliers: "all", text: "", boxed: null, // what to show
  column: null, descending: false, page: 0, // how the table is sorted
  hovered: -1, focused: -1, chosen: -1, corner: null, // where the reader is
};
let rows = []; // the samples that pass the filter, as sorted
let visible = new Uint8Array(count).fill(1);
let x = new Float32Array(count); // pixels
let y = new Float32Array(count);


const fixed = (value) => (value === null ? "–" : value.toFixed(2));
const plain = (value) => (value === null ? "–" : String(value).replace("-", "−"));

function feature(k, i) {
  const [value, decimals] = [data.features.values[k][i], data.features.decimals[k]];
  if (typeof value === "string") return value;
  return plain(value === null || decimals === null ? value : value.toFixed(decimals));
}

function membershipIn(i, cluster) {
  const pairs = data.memberships[i];
  for (let k = 0; k < pairs.length; k += 2) if (pairs[k] === cluster) return pairs[k + 1];
  return 0;
}

const worthSaying = (membership) => membership >= 0.001;

function nextCluster(i) { // the best one beside the label
  const pairs = data.memberships[i];
  for (let k = 0; k < pairs.length; k += 2) {
    if (pairs[k] !== data.labels[i]) return worthSaying(pairs[k + 1]) ? pairs[k] : null;
  }
  return null;
}

const outlying = (i) => data.outliers !== null && data.outliers[i] >= data.outlierThreshold;

function columns() {
  const list = [
    { name: data.idName, value: (i) => data.ids[i], text: (i) => data.ids[i] },
    { name: "cluster", value: (i) => data.labels[i], text: (i) => String(data.labels[i]), numeric: true },
    { name: "membership", value: (i) => membershipIn(i, data.labels[i]), show: fixed, numeric: true },
    { name: "next cluster", value: nextCluster, show: plain, numeric: true },
    { name: "ambiguity", value: (i) => data.ambiguity[i], show: fixed, numeric: true },
  ];
  if (data.clusters.length === 1) list.splice(2);
  if (data.outliers) list.push({ name: "outlier score", value: (i) => data.outliers[i], show: fixed, numeric: true, strong: outlying });
  if (data.classes) list.push({ name: "class", value: (i) => data.classes[i], text: (i) => data.classes[i] });
  data.features.names.forEach((name, k) => {
    const numeric = !data.features.values[k].some((value) => typeof value === "string");
    list.push({ name, value: (i) => data.features.values[k][i], text: (i) => feature(k, i), numeric });
  });
  for (const column of list) column.text ??= (i) => column.show(column.value(i));
  return list;
}
const table = columns();

const called = (i) => (/^\d+$/.test(data.ids[i]) ? `${data.idName} ${data.ids[i]}` : data.ids[i]);

function described(i) { // for tooltip and screen reader
  const lines = [];
  const pairs = data.memberships[i];
  const name = `cluster ${data.labels[i]}${data.classes ? `, class ${data.classes[i] || "unknown"}` : ""}`;
  lines.push(outlying(i) ? `${name}, outlier` : name);
  if (data.clusters.length > 1) {
    const shares = [];
    for (let k = 0; k < Math.min(pairs.length, 8); k += 2) {
      if (k === 0 || worthSaying(pairs[k + 1])) shares.push(`${pairs[k]}: ${fixed(pairs[k + 1])}`);
    }
    lines.push(`memberships ${shares.join(", ")}`, `ambiguity ${fixed(data.ambiguity[i])}`);
  }
  if (data.outliers) lines.push(`outlier score ${fixed(data.outliers[i])}`);
  for (const k of data.features.telling.slice(0, 5)) {
    lines.push(`${data.features.names[k]} ${feature(k, i)}`);
  }
  return lines;
}


function passes(i) {
  return (state.cluster === null || data.labels[i] === state.cluster)
    && (!state.only || data.ambiguity[i] >= data.threshold)
    && (state.outliers === "all" || outlying(i) === (state.outliers === "only"))
    && (!state.boxed || state.boxed[i] === 1)
    && (!state.text || data.ids[i].toLowerCase().includes(state.text));
}

function compared(column) {
  const sign = state.descending ? -1 : 1;
  return (a, b) => {
    const [first, second] = [column.value(a), column.value(b)];
    if (first === null || second === null) return (first === null) - (second === null); // missing ones last
    return sign * (column.numeric ? first - second : collator.compare(first, second)) || a - b;
  };
}

function select() {
  rows = [];
  for (let i = 0; i < count; i += 1) {
    visible[i] = passes(i) ? 1 : 0;
    if (visible[i]) rows.push(i);
  }
  if (state.column !== null) rows.sort(compared(table[state.column]));
  for (const key of ["hovered", "focused", "chosen"]) if (state[key] >= 0 && !visible[state[key]]) state[key] = -1;
}

function update() {
  select();
  state.page = 0;
  draw();
  fillTable();
  const some = `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "sample" : "samples"} shown`;
  byId("count").textContent = rows.length === count ? some : `${some} of ${count.toLocaleString("en")}`;
  for (const button of document.querySelectorAll("[data-cluster]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.cluster) === state.cluster));
  }
}
