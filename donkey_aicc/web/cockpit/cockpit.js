// Puts the panels on the page and feeds them with what the car sends.
import { Camera } from "./look/camera.js";
import { Dial, STATES } from "./look/dial.js";
import { Horizons } from "./look/horizons.js";
import { Traces, usualRows } from "./look/traces.js";
import { TrackMap } from "./look/track_map.js";
import { drawFeatures, drawGauges } from "./look/bars.js";
import { facts, governor, place, secondsWords, speakTraces } from "./look/facts.js";
import { known } from "./look/canvas.js";
import { themeButton } from "./look/theme.js";
import { Link, store } from "./link.js";
import { Pad } from "./controls.js";
import { Siren } from "./sound.js";
import { Wheel } from "./wheel.js";

const $ = (id) => document.getElementById(id);
const SPAN_S = 30, OLD_S = 1.0;
const moments = [];
let about = null, index = 0, heard = performance.now(), state = "connecting", previous = null, rate = null, jpegShown = false, spoken = 0;

const dial = new Dial($("dial")), camera = new Camera($("frame"), $("heat"), $("heat-key")), map = new TrackMap($("map"));
const traces = new Traces($("traces"), usualRows(() => index)), horizons = new Horizons($("horizons"), $("legend"));
const link = new Link({ tick, said, state: (text) => { state = text; } });
const pad = new Pad(link);
const wheel = new Wheel(link, (text, good) => pad.say(text, good));
const siren = new Siren($("sound"));
themeButton($("theme"));
$("big").addEventListener("click", () => big(!document.body.classList.contains("big")));
addEventListener("fullscreenchange", () => document.fullscreenElement || big(false));
$("share-open").addEventListener("click", () => $("share").showModal());
$("share-close").addEventListener("click", () => $("share").close());
$("share-address").textContent = `${location.origin}/aicc`;
$("token-form").hidden = false;

link.onready = () => link.send({ heat: $("heat-on").checked });
$("heat-on").addEventListener("change", () => link.send({ heat: $("heat-on").checked }));
$("horizon").addEventListener("change", () => { index = Number($("horizon").value); });
$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = $("token").value.trim();
  if (!token) return;
  store(token);
  link.use(token);
});
setInterval(watchAge, 250);
addEventListener("resize", () => requestAnimationFrame(draw));

// Camera, dial and state alone; as large as the screen where the browser allows it.
function big(on) {
  document.body.classList.toggle("big", on);
  $("big").setAttribute("aria-pressed", String(on));
  $("big").textContent = on ? "All panels" : "Full screen";
  if (on) document.documentElement.requestFullscreen?.().catch(() => {});
  else if (document.fullscreenElement) document.exitFullscreen();
  requestAnimationFrame(draw);
}

function said(message) {
  if (message.about) { state = "connected"; link.needs = false; describe(message.about); }
  if (message.history && !moments.length) moments.push(...message.history);
  if (message.ask === "token") { link.needs = true; state = "you need the token to look"; $("looking").textContent = "You need the token even to look."; }
  if (message.may_control !== undefined || message.about) pad.allow(Boolean(message.may_control ?? message.about.may_control));
  if (message.refused) pad.say(message.refused, false);
  if (message.reply && message.said) pad.say(message.said, message.done);
}

function describe(given) {
  about = given;
  $("foreign").hidden = !given.foreign;
  $("foreign").textContent = given.foreign || "";
  const steps = given.horizons || [];
  $("car").textContent = `${given.simulated ? "simulator" : "car"} · ${given.monitor ? `bundle ${given.monitor}` : given.learning || "monitor off: set AICC_BUNDLE"}`;
  pad.describe(given);
  wheel.describe(given);
  const second = steps.reduce((best, k, i) => (Math.abs(k - given.rate_hz) < Math.abs(steps[best] - given.rate_hz) ? i : best), 0);
  index = steps.length ? second : 0;
  $("horizon").replaceChildren(...steps.map((k, i) => new Option(ahead(k), i, false, i === index)));
  $("features-card").hidden = $("heat-row").hidden = !given.monitor;
  $("ahead").hidden = !steps.length;
}

const ahead = (steps) => secondsWords(steps, about.rate_hz);

function tick(moment, jpeg) {
  if (known(moment.age_s) && moment.age_s < OLD_S) heard = performance.now() - 1000 * moment.age_s;
  if (jpeg) {
    camera.showJpeg(jpeg);
    $("frame").hidden = false;
    $("no-frame").hidden = jpegShown = true;
  }
  camera.showHeat($("heat-on").checked ? moment.heat : null);
  if (known(moment.t) && moment.tick !== previous?.tick) {
    if (previous && moment.t < previous.t) moments.length = 0; // the car was started anew
    if (previous && moment.t > previous.t && moment.tick > previous.tick) {
      const now = (moment.tick - previous.tick) / (moment.t - previous.t);
      rate = rate === null ? now : 0.9 * rate + 0.1 * now;
    }
    moments.push(moment);
    while (moments.length && moments[0].t < moment.t - SPAN_S) moments.shift();
    previous = moment;
  }
  siren.hear(["danger", "blind"].includes(STATES[moment.state]));
  pad.show(moment);
  wheel.show(moment);
  draw();
}

function draw() {
  const moment = moments[moments.length - 1];
  if (!moment || !about) return;
  const steps = about.horizons || [];
  dial.show(moment, index, steps.length ? ahead(steps[index]) : "", about);
  traces.draw(moments, moment.t - SPAN_S, moment.t);
  horizons.draw(moment, steps, about.rate_hz, index);
  if (about.features) drawFeatures($("features"), about.features, moment.features);
  drawGauges($("gauges"), moment);
  const ride = moment.ride || {}, seconds = (value) => (known(value) ? `${value.toFixed(1)} s` : null);
  facts($("ride"), [
    ["speed", known(moment.speed) ? `${moment.speed.toFixed(2)} m/s` : null], ["lap", seconds(ride.lap_s)], ["last", seconds(ride.last_lap_s)],
    ["best", seconds(ride.best_lap_s)], ["departures", ride.departures, ride.departures > 0],
  ]);
  $("map-card").hidden = !(known(moment.x) && known(moment.y)) && !known(moment.cte);
  map.draw(about.track || null, moments, moment);
  facts($("place"), place(moment, about.track?.half_width_m));
  const waiting = (moment.injection?.asked_for || []).filter((name) => !(moment.inject_protocol || "").split("+").includes(name));
  facts($("facts"), [
    ["fault", moment.inject_protocol ? `${moment.inject_protocol}:${moment.inject_severity}` : waiting.length ? `${waiting.join("+")} waits for pilot mode` : "none", Boolean(moment.inject_protocol)],
    governor(moment),
    ["scores", known(moment.scores_age_s) ? `${moment.scores_age_s.toFixed(2)} s old${moment.scores_valid ? "" : ", not valid"}` : null],
    ["grade", moment.grade],
    ["loops", rate ? `${rate.toFixed(0)} of ${about.rate_hz} a second` : null, rate < 0.75 * about.rate_hz],
    ["recorded", moment.records],
    ["marked", moment.mark ? "unsafe" : null, true],
  ]);
  if (performance.now() - spoken > 2000) speak(moment);
}

// What a canvas shows, in words for a screen reader.
function speak(moment) {
  spoken = performance.now();
  const number = (value) => (known(value) ? value.toFixed(2) : "not known");
  speakTraces($("traces"), moment, index);
  $("horizons").setAttribute("aria-label", `stays in its lane: from ${number(moment.stays?.[0])} now to ${number(moment.stays?.at(-1))} at the furthest`);
  $("map").setAttribute("aria-label", known(moment.cte) ? `the car is ${(100 * moment.cte).toFixed(0)} centimetres off the centre` : "the car on the track");
}

function watchAge() {
  const age_s = (performance.now() - heard) / 1000;
  const open = state === "connected", old = age_s > OLD_S;
  document.body.classList.toggle("stale", old || !open);
  $("link").textContent = open ? (old ? "no news" : "live") : state;
  $("old").hidden = !old && open;
  if (old || !open) {
    const why = open ? (jpegShown || previous ? "the car's drive loop has stopped" : "the drive loop has not begun") : link.needs ? "viewing needs the token" : "no connection; trying again";
    const text = previous ? `Data is ${Math.floor(age_s)} s old: ${why}` : `No data: ${why}`;
    if ($("old").textContent !== text) $("old").textContent = text;
  }
}
