// Time: one cursor for all runs, moved by playing, scrubbing, stepping, or a click on an event.
import { themeButton } from "./look/theme.js";
import { colours, known, prepare } from "./look/canvas.js";
import { RunView, clock } from "./run_view.js";
import { load } from "./source.js";

const $ = (id) => document.getElementById(id);
let views = [], now = 0, end = 0, playing = false, last = null, drawn = false;

themeButton($("theme"));
load().then(begin, (error) => {
  $("wait").hidden = true;
  $("problem").hidden = false;
  $("problem").textContent = `The drive cannot be shown: ${error.message}. Is the command donkey-aicc replay still running?`;
});

function begin(source) {
  views = source.runs.map((packed) => new RunView(source, packed, goTo));
  for (const view of views) view.onchange = draw;
  end = Math.max(...views.map((view) => view.series.end));
  $("runs").replaceChildren(...views.map((view) => view.root));
  $("runs").classList.toggle("two", views.length > 1);
  $("names").textContent = source.note || `${views.map((view) => `${view.series.length} records`).join(" and ")}, ${clock(end)} min`;
  document.title = `Replay: ${views.map((view) => view.series.name).join(" and ")}`;
  $("slider").max = Math.ceil(100 * end) / 100;
  $("transport").hidden = false;
  connect();
  goTo(0);
  document.body.dataset.ready = "yes";
}

function connect() {
  $("slider").addEventListener("input", () => goTo(Number($("slider").value)));
  $("play").addEventListener("click", () => play(!playing));
  $("back").addEventListener("click", () => step(-1));
  $("on").addEventListener("click", () => step(1));
  $("previous-event").addEventListener("click", () => toEvent(-1));
  $("next-event").addEventListener("click", () => toEvent(1));
  $("span").addEventListener("change", draw);
  $("overview").addEventListener("pointerdown", scrub);
  $("overview").addEventListener("pointermove", (event) => event.buttons && scrub(event));
  addEventListener("keydown", key);
  addEventListener("resize", () => { drawn = false; draw(); });
}

function scrub(event) {
  const box = $("overview").getBoundingClientRect();
  goTo(((event.clientX - box.left) / box.width) * end);
}

function goTo(t) {
  now = Math.min(Math.max(t, 0), end);
  draw();
}

function step(rows) {
  play(false);
  const series = views[0].series;
  const row = Math.min(Math.max(series.row(now) + rows, 0), series.length - 1);
  goTo(series.t[row]);
}

function toEvent(direction) {
  play(false);
  const times = views.flatMap((view) => view.events.map((event) => event.t)).sort((a, b) => a - b);
  const next = direction > 0 ? times.find((t) => t > now + 0.02) : times.findLast((t) => t < now - 0.02);
  if (next !== undefined) goTo(next);
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (sideways && event.shiftKey) goTo(now + sideways);
  else if (sideways) step(sideways);
  else if (event.key === " " && !event.target.matches("button:not(#play)")) play(!playing);
  else if (event.key === "Home") goTo(0);
  else if (event.key === "End") goTo(end);
  else if (event.key === "n" || event.key === "N") toEvent(1);
  else if (event.key === "p" || event.key === "P") toEvent(-1);
  else if (event.key === "h" || event.key === "H") for (const view of views) { if (!view.find(".heat-row").hidden) view.find(".heat-on").click(); }
  else return;
  event.preventDefault();
}

function play(on) {
  if (on && now >= end) now = 0;
  playing = on;
  $("play").firstChild.textContent = on ? "⏸︎" : "▶";
  $("play").setAttribute("aria-label", on ? "Pause" : "Play");
  last = null;
  if (on) requestAnimationFrame(advance);
}

function advance(at) {
  if (!playing) return;
  if (last !== null) goTo(now + Number($("speed").value) * (at - last) / 1000);
  last = at;
  if (now >= end) return play(false);
  requestAnimationFrame(advance);
}

function draw() {
  if (!views.length) return;
  for (const view of views) view.show(now, Number($("span").value));
  $("slider").value = now;
  $("clock").textContent = `${clock(now)} / ${clock(end)}`;
  $("slider").setAttribute("aria-valuetext", `${now.toFixed(1)} of ${end.toFixed(0)} seconds`);
  if (!drawn) overview();
}

// The whole drive in one strip each: the dial, injected faults shaded, a tick for every event.
function overview() {
  const paper = prepare($("overview"));
  if (!paper) return;
  drawn = true;
  const { g, width, height } = paper, colour = colours(), tall = height / views.length, x = (t) => (t / Math.max(end, 1e-6)) * width;
  views.forEach((view, number) => {
    const top = number * tall, series = view.series, every = Math.max(1, Math.floor(series.length / (2 * width)));
    g.fillStyle = colour.shade;
    series.moments.forEach((moment, row) => {
      if (!moment.inject_protocol) return;
      const next = series.moments[row + 1]?.inject_protocol ? series.t[row + 1] : moment.t + 1 / series.rate_hz;
      g.fillRect(x(moment.t), top, x(next) - x(moment.t) + 0.5, tall - 2);
    });
    g.strokeStyle = colour["line-3"];
    g.lineWidth = 1.5;
    g.beginPath();
    let drawing = false;
    for (let row = 0; row < series.length; row += every) {
      const moment = series.moments[row], value = moment.stays?.[view.index] ?? moment.confidence?.[view.index] ?? (known(moment.rho) ? 1 - moment.rho : NaN);
      if (!known(value)) { drawing = false; continue; }
      const place = [x(moment.t), top + 10 + (1 - value) * (tall - 16)];
      drawing ? g.lineTo(...place) : g.moveTo(...place);
      drawing = true;
    }
    g.stroke();
    for (const event of view.events) {
      const bad = event.kind === "departure" || event.kind === "alarm";
      g.fillStyle = bad ? colour["bad-fill"] : colour.accent;
      g.fillRect(x(event.t) - 1, top, bad ? 3 : 2, bad ? 9 : 6);
    }
  });
}
