// What live and replay say in the same words.
import { known } from "./canvas.js";

const GOVERNOR = { off: "off", full: "full throttle", slowed: "slowed", stopped: "stopped", "would slow": "would slow", "would stop": "would stop" };

// pairs: [name, value, strong?]; a value that is not known is left out.
export function facts(root, pairs) {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = JSON.stringify(shown);
  if (root.dataset.shown === text) return;
  root.dataset.shown = text;
  root.replaceChildren(...shown.map(([name, value, strong]) => {
    const row = document.createElement("div");
    if (strong) row.className = "strong";
    for (const [tag, content] of [["dt", name], ["dd", value]]) row.append(Object.assign(document.createElement(tag), { textContent: content }));
    return row;
  }));
}

export const secondsWords = (steps, rate_hz) => `${(steps / rate_hz).toFixed(2).replace(/0$/, "")} s`;

export const governor = ({ action }) => ["governor", GOVERNOR[action] ?? action, action && action !== "off" && action !== "full"];

// A car that cuts across to another piece of the track is still as far away from where it left its own.
export const place = (moment, half_width_m) => {
  const out = known(moment.cte) && known(half_width_m) && Math.abs(moment.cte) > half_width_m;
  return [
    ["lap", known(moment.lap) ? moment.lap : null],
    ["off centre", known(moment.cte) ? `${(100 * moment.cte).toFixed(0)} cm${out ? ", left the lane" : ""}` : null, out],
  ];
};

// What the strips show, in words for a screen reader.
export function speakTraces(canvas, moment, index) {
  const number = (value) => (known(value) ? value.toFixed(2) : "not known");
  canvas.setAttribute("aria-label", `rho ${number(moment.rho)}, delta ${number(moment.delta)}, stays in its lane ${number(moment.stays?.[index])}, throttle ${number(moment.throttle)}`);
}
