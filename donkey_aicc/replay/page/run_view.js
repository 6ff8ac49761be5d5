// One run on the page: the same panels as the live cockpit, and its events.
import { Camera } from "./look/camera.js";
import { Dial } from "./look/dial.js";
import { Horizons } from "./look/horizons.js";
import { Traces, usualRows } from "./look/traces.js";
import { TrackMap } from "./look/track_map.js";
import { drawFeatures } from "./look/bars.js";
import { facts, governor, place, secondsWords, speakTraces } from "./look/facts.js";
import { known } from "./look/canvas.js";
import { Series } from "./series.js";

const KINDS = {
  departure: "Departures", alarm: "Alarms", fault: "Injected faults", disagreement: "Raw and calibrated disagree most",
  picture: "Worst pictures (ρ)", dynamics: "Worst dynamics (δ)",
};

export class RunView {
  // goTo(t): called when an event is clicked.
  constructor(source, packed, goTo) {
    this.source = source;
    this.series = new Series(packed);
    this.events = packed.events;
    this.index = packed.main_horizon;
    this.root = document.getElementById("run").content.firstElementChild.cloneNode(true);
    const find = (name) => this.root.querySelector(name);
    this.find = find;
    this.camera = new Camera(find(".frame"), find(".heat"), find(".heat-key"));
    this.dial = new Dial(find(".dial"), packed.words.state ? "Not known" : "No alarm recorded");
    this.traces = new Traces(find(".traces"), usualRows(() => this.index));
    this.horizons = new Horizons(find(".horizons"), find(".legend"));
    this.map = new TrackMap(find(".map"));
    this.way = wholeWay(this.series, this.map);
    this.wanted = this.shown = this.heated = null;
    this.describe(packed, goTo);
    const image = find(".frame");
    image.addEventListener("load", () => this.framed(true));
    image.addEventListener("error", () => this.framed(false));
    find(".horizon").addEventListener("change", (event) => { this.index = Number(event.target.value); this.onchange?.(); });
    find(".heat-on").addEventListener("change", () => { this.heated = null; this.onchange?.(); });
  }

  describe(packed, goTo) {
    const find = this.find;
    find(".title").textContent = packed.name;
    if (packed.run) for (const part of this.root.querySelectorAll("section")) part.ariaLabel += ", second drive";
    find(".title").append(Object.assign(document.createElement("small"), { className: "quiet", textContent: [packed.scores_from && `scores ${packed.scores_from}`, ...packed.notes].filter(Boolean).join(" · ") }));
    find(".horizon").replaceChildren(...packed.horizons.map((k, i) => new Option(this.lastsWords(k), i, false, i === this.index)));
    find(".ahead").hidden = !packed.horizons.length;
    find(".features-card").hidden = !packed.features.length;
    find(".map-card").hidden = !(this.series.has("x") && this.series.has("y"));
    find(".heat-row").hidden = !packed.heat;
    find(".count").textContent = packed.events.length ? "" : "none found";
    find(".events").replaceChildren(...packed.kinds.map((kind) => this.group(kind, goTo)).filter(Boolean));
  }

  group(kind, goTo) {
    const events = this.events.filter((event) => event.kind === kind);
    if (!events.length) return null;
    const box = document.createElement("div");
    box.append(Object.assign(document.createElement("h3"), { textContent: `${KINDS[kind] || kind} (${events.length})` }));
    for (const event of events) {
      const button = Object.assign(document.createElement("button"), { className: "plain event", type: "button" });
      button.append(Object.assign(document.createElement("span"), { className: "number", textContent: clock(event.t) }), ` ${event.text}`);
      button.addEventListener("click", () => goTo(event.t));
      event.button = button;
      box.append(button);
    }
    return box;
  }

  lastsWords(steps) {
    return secondsWords(steps, this.series.rate_hz);
  }

  // Draws the moment at t; span_s: how much time the strips show, 0 the whole drive.
  show(t, span_s) {
    const series = this.series, row = series.row(t), moment = series.moments[row], steps = series.horizons;
    this.ask(row);
    this.dial.show(moment, this.index, steps.length ? this.lastsWords(steps[this.index]) : "", { beside: series.about.safe, no_dial: series.has("stays") ? "" : "no number: this drive holds none; replay --bundle BUNDLE works it out" });
    const [begin, end] = span_s ? [t - span_s / 2, t + span_s / 2] : [0, series.end];
    this.traces.draw(series.between(begin, end), begin, end, moment);
    this.horizons.draw(moment, steps, series.rate_hz, this.index);
    if (series.about.features.length) drawFeatures(this.find(".features"), series.about.features, moment.features);
    if (!this.find(".map-card").hidden) this.map.draw(series.about.track, series.about.track ? series.between(t - 30, t) : this.way, moment);
    this.facts(row, moment);
    for (const event of this.events) event.button?.classList.toggle("here", Math.abs(event.t - t) < 0.75 / series.rate_hz);
  }

  facts(row, moment) {
    facts(this.find(".facts"), [
      ["record", this.series.index[row]], ["driver", { user: "a person", local: "pilot", local_angle: "pilot steers" }[moment.mode] || moment.mode],
      ["steering", number(moment.steering)], ["throttle", number(moment.throttle)], ["speed", known(moment.speed) ? `${moment.speed.toFixed(2)} m/s` : null],
      ["fault", moment.inject_protocol ? `${moment.inject_protocol}:${moment.inject_severity}` : null, true], governor(moment),
      ["scores", known(moment.scores_age_s) ? `${moment.scores_age_s.toFixed(2)} s old` : null], ["grade", moment.grade],
      ...place(moment, this.series.about.track?.half_width_m), ["marked", moment.mark ? "unsafe" : null, true],
    ]);
    speakTraces(this.find(".traces"), moment, this.index);
  }

  // One picture at a time: the next is asked for when the last has come, so that scrubbing never queues up.
  ask(row) {
    this.wanted = row;
    if (this.loading || this.shown === row) return this.showHeat();
    this.loading = true;
    this.asked = row;
    this.camera.image.src = this.source.frame(this.series.about.run, row);
  }

  framed(good) {
    this.loading = false;
    this.shown = this.asked;
    this.find(".frame").hidden = !good;
    this.find(".no-frame").hidden = good;
    if (this.wanted !== this.shown) this.ask(this.wanted);
    else this.showHeat();
  }

  async showHeat() {
    if (!this.find(".heat-on").checked) {
      if (this.heated !== null) this.camera.showHeat((this.heated = null));
      return;
    }
    if (this.heating || this.heated === this.shown || this.shown === null) return;
    this.heating = true;
    const row = this.shown;
    try {
      this.camera.showHeat(await this.source.heat(this.series.about.run, row));
    } finally {
      this.heating = false;
      this.heated = row;
    }
    if (this.shown !== row) this.showHeat();
  }
}

// Where the track is not known, the whole way shows its shape. Units differ between cars: a jump is what is far beyond a usual step.
function wholeWay(series, map) {
  const every = Math.max(1, Math.floor(series.length / 1500));
  const way = series.moments.filter((moment, i) => i % every === 0 && known(moment.x) && known(moment.y));
  const steps = way.slice(1).map((moment, i) => Math.hypot(moment.x - way[i].x, moment.y - way[i].y)).sort((a, b) => a - b);
  map.jump = Math.max(1, 8 * (steps[Math.floor(steps.length / 2)] || 0));
  return way;
}

const number = (value) => (known(value) ? value.toFixed(2) : null);

export function clock(t) {
  const minutes = Math.floor(t / 60);
  return `${minutes}:${(t - 60 * minutes).toFixed(2).padStart(5, "0")}`;
}
