"use strict";
// The page's state is a setup as JSON (see readInputs). Every change asks the server for a preview, which also checks it.

const $ = (id) => document.getElementById(id);
const HSV = [["Hue from", "low", 0, 179], ["Hue to", "high", 0, 179], ["Saturation from", "low", 1, 255],
  ["Saturation to", "high", 1, 255], ["Value from", "low", 2, 255], ["Value to", "high", 2, 255]];
const HINTS = {
  floor: "Click a floor spot you have measured; drag a point to move it.",
  marker: "Click the middle of the marker on the car. Try several moments with the slider.",
  line: "Click along the middle of the lane, in driving direction.",
  lens: "Click points along something that is straight in reality.",
};
const view = $("view"), context = view.getContext("2d"), loupe = $("loupe");
const points = { floor: [], line: [], lens: [] };
const metres = [];           // [x, y] as typed (strings) of each floor point
const marker = { low: null, high: null };
let tool = "floor", image = null, mask = null, shown = {}, dragged = null, size = [16, 9], lines = [];

async function ask(path, body) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error || answer.statusText);
  return content;
}

function typed(id) {
  const value = $(id).value.trim();
  return value === "" ? null : Number(value);
}

function readInputs() {
  const camera = ["camera-x", "camera-y", "camera-z"].map(typed);
  return {
    image_size_px: size,
    floor_points: points.floor.map((px, i) => ({ px, m: metres[i].map((text) => (text.trim() === "" ? null : Number(text))) })),
    lens_k1: typed("lens-k1") ?? 0,
    marker: { hsv_low: marker.low, hsv_high: marker.high, size_m: typed("marker-size"), height_m: typed("marker-height") ?? 0 },
    camera_m: camera.includes(null) ? null : camera,
    centreline_px: points.line,
    smooth: $("smooth").checked,
    reverse: $("reverse").checked,
  };
}

function fill(inputs) {
  points.floor = inputs.floor_points.map((point) => point.px);
  metres.splice(0, metres.length, ...inputs.floor_points.map((point) => point.m.map(String)));
  points.line = inputs.centreline_px;
  marker.low = inputs.marker.hsv_low;
  marker.high = inputs.marker.hsv_high;
  $("marker-size").value = inputs.marker.size_m ?? "";
  $("marker-height").value = inputs.marker.height_m;
  ["x", "y", "z"].forEach((axis, i) => ($(`camera-${axis}`).value = inputs.camera_m ? inputs.camera_m[i] : ""));
  $("lens-k1").value = inputs.lens_k1;
  $("smooth").checked = inputs.smooth;
  $("reverse").checked = inputs.reverse;
}

function redraw() {
  const unit = size[0] / Math.max(view.clientWidth, 1);
  drawScene(context, { image, mask, shown, points, tool, unit });
}

function say(text, kind = "") {
  $("status").textContent = text;
  $("status").className = kind;
}

// One preview at a time; a change while it runs asks for one more afterwards.
let running = false, again = false;
async function preview() {
  redraw();
  if (running) { again = true; return; }
  running = true;
  try {
    shown = await ask("api/preview", { t: Number($("time").value), inputs: readInputs() });
    mask = shown.mask ? await loadImage(shown.mask) : null;
    showFindings();
  } catch (error) {
    say(error.message, "bad");
  }
  running = false;
  if (again) { again = false; preview(); } else redraw();
}

function loadImage(url) {
  return new Promise((resolve, reject) => {
    const picture = new Image();
    picture.onload = () => resolve(picture);
    picture.onerror = () => reject(new Error("the picture could not be loaded"));
    picture.src = url;
  });
}

function showFindings() {
  const problems = shown.problems;
  const begun = { floor: points.floor.length >= 4, marker: marker.low !== null, centreline: points.line.length >= 3 };
  for (const [name, ready] of Object.entries(begun)) {
    document.querySelector(`[data-problem="${name}"]`).textContent = (ready && problems[name]) || "";
  }
  const done = { floor: !problems.floor, marker: !problems.marker, line: Boolean(shown.track_px) };
  for (const [name, is] of Object.entries(done)) document.querySelector(`[data-tool="${name}"]`).classList.toggle("done", is);
  $("save").disabled = Boolean(problems.all);
  const facts = [];
  if (shown.length_m) facts.push(`track ${shown.length_m.toFixed(2)} m`);
  if (shown.floor_residual_m !== undefined && points.floor.length > 4) facts.push(`floor points off by ${(100 * shown.floor_residual_m).toFixed(1)} cm`);
  if (shown.blobs_px) facts.push(`${shown.blobs_px.length} spot${shown.blobs_px.length === 1 ? "" : "s"} of the marker's colour and size`);
  $("facts").textContent = facts.join(", ");
}

async function showFrame() {
  const time = Number($("time").value);
  $("time-shown").textContent = `${time.toFixed(1)} s`;
  try {
    image = await loadImage(`api/frame?t=${time}`);
  } catch (error) {
    say(error.message, "bad");
  }
  preview();
}

function floorTable() {
  const body = $("floor-table").tBodies[0];
  body.replaceChildren(...points.floor.map((_, i) => {
    const row = document.createElement("tr");
    row.append(cell(String(i + 1)), cell(metreInput(i, 0)), cell(metreInput(i, 1)), cell(removeButton(i)));
    return row;
  }));
}

function cell(content) {
  const td = document.createElement("td");
  td.append(content);
  return td;
}

function metreInput(i, axis) {
  const input = document.createElement("input");
  input.type = "number";
  input.step = "0.01";
  input.inputMode = "decimal";
  input.setAttribute("aria-label", `${"xy"[axis]} of point ${i + 1} in metres`);
  input.value = metres[i][axis];
  input.oninput = () => { metres[i][axis] = input.value; preview(); };
  return input;
}

function removeButton(i) {
  const button = document.createElement("button");
  button.className = "plain";
  button.textContent = "\u00d7";
  button.setAttribute("aria-label", `Remove point ${i + 1}`);
  button.onclick = () => { points.floor.splice(i, 1); metres.splice(i, 1); floorTable(); preview(); };
  return button;
}

function sliders() {
  $("sliders").replaceChildren(...HSV.map(([name, end, part, limit]) => {
    const label = document.createElement("label"), input = document.createElement("input"), output = document.createElement("output");
    label.className = "slider";
    input.type = "range";
    input.min = 0;
    input.max = limit;
    input.disabled = !marker[end];
    input.value = marker[end] ? marker[end][part] : end === "low" ? 0 : limit;
    output.textContent = input.value;
    input.oninput = () => { marker[end][part] = Number(input.value); output.textContent = input.value; preview(); };
    label.append(name, input, output);
    return label;
  }));
}

function choose(name) {
  tool = name;
  for (const button of document.querySelectorAll("#tools button")) button.setAttribute("aria-selected", button.dataset.tool === name);
  for (const card of document.querySelectorAll(".card")) card.hidden = card.dataset.card !== name;
  $("hint").textContent = HINTS[name];
  $("undo").disabled = $("clear").disabled = name === "marker";
  redraw();
}

function place(event) {
  const box = view.getBoundingClientRect();
  const at = [(event.clientX - box.left) * size[0] / box.width - 0.5, (event.clientY - box.top) * size[1] / box.height - 0.5];
  return at.map((value, axis) => Math.round(10 * Math.min(Math.max(value, 0), size[axis] - 1)) / 10);
}

function grab(at) {
  const reach = 14 * size[0] / view.clientWidth;
  const list = points[tool] || [];
  let best = null, nearest = reach;
  list.forEach(([x, y], i) => {
    const distance = Math.hypot(x - at[0], y - at[1]);
    if (distance < nearest) { nearest = distance; best = i; }
  });
  return best;
}

function moveLoupe(event, at) {
  const box = view.getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  loupe.hidden = false;
  loupe.style.left = `${Math.min(Math.max(x < box.width / 2 ? x + 30 : x - 162, 0), box.width - 132)}px`;
  loupe.style.top = `${Math.min(Math.max(y - 150, 0), Math.max(box.height - 132, 0))}px`;
  if (image) drawLoupe(loupe, image, at[0] + 0.5, at[1] + 0.5);
}

async function pick(at) {
  try {
    const found = await ask("api/pick", { t: Number($("time").value), x: at[0], y: at[1], inputs: readInputs() });
    marker.low = found.hsv_low;
    marker.high = found.hsv_high;
    if (found.size_m !== null) $("marker-size").value = found.size_m;
    say("");
    sliders();
    preview();
  } catch (error) {
    say(error.message, "bad");
  }
}

view.addEventListener("pointerdown", (event) => {
  event.preventDefault();
  const at = place(event);
  if (tool === "marker") { pick(at); return; }
  dragged = grab(at);
  if (dragged === null) {
    points[tool].push(at);
    if (tool === "floor") { metres.push(["", ""]); floorTable(); }
    dragged = points[tool].length - 1;
  }
  view.setPointerCapture(event.pointerId);
  moveLoupe(event, at);
  redraw();
});
view.addEventListener("pointermove", (event) => {
  const at = place(event);
  moveLoupe(event, at);
  if (dragged !== null) { points[tool][dragged] = at; redraw(); }
});
view.addEventListener("pointerup", () => { if (dragged !== null) { dragged = null; preview(); } });
view.addEventListener("pointercancel", () => { dragged = null; });
view.addEventListener("pointerleave", () => { loupe.hidden = true; });

$("tools").onclick = (event) => event.target.dataset.tool && choose(event.target.dataset.tool);
$("undo").onclick = () => { points[tool].pop(); if (tool === "floor") { metres.pop(); floorTable(); } preview(); };
$("clear").onclick = () => { points[tool] = []; if (tool === "floor") { metres.length = 0; floorTable(); } if (tool === "lens") lines = []; preview(); };
$("time").oninput = showFrame;
for (const id of ["marker-size", "marker-height", "camera-x", "camera-y", "camera-z", "lens-k1", "smooth", "reverse"]) $(id).oninput = preview;
$("lens-estimate").onclick = async () => {
  const note = document.querySelector('[data-problem="lens"]');
  try {
    const all = lines.concat(points.lens.length ? [points.lens] : []);
    $("lens-k1").value = (await ask("api/lens", { inputs: { straight_lines_px: all } })).lens_k1;
    lines = all;
    points.lens = [];
    note.textContent = "";
    preview();
  } catch (error) {
    note.textContent = error.message;
  }
};
$("save").onclick = async () => {
  try {
    say(`Saved ${(await ask("api/save", { inputs: readInputs() })).saved}`, "good");
  } catch (error) {
    say(error.message, "bad");
  }
};
window.onresize = redraw;

(async () => {
  const state = await ask("api/state");
  size = state.size_px;
  [view.width, view.height] = size;
  $("video-name").textContent = state.video;
  $("time").max = Math.max(state.duration_s - 1 / state.rate_hz, 0).toFixed(1);
  if (state.inputs) fill(state.inputs);
  const wanted = location.hash.slice(1);
  choose(wanted in HINTS ? wanted : "floor");
  floorTable();
  sliders();
  showFrame();
})();
