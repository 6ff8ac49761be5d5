// Lists of named values with a bar each: dynamics features in nominal standard deviations, steering and throttle.
import { known } from "./canvas.js";

const WORDS = {
  rollout_mean: "doubt ahead, mean", rollout_max: "doubt ahead, most", rollout_volatility: "doubt ahead, change",
  longest_hold: "steering held", longest_hold_turning: "held while turning", held_fraction_turning: "share held in turns",
  reversal_rate: "steering reversals", jerk: "steering jerk", mean_steering: "mean steering", xcorr_peak: "picture follows",
  hf_ratio: "fast steering", response_lag: "picture reacts late",
};
const REACH = 6;

export function drawFeatures(root, names, values) {
  fill(root, names.map((name, i) => {
    const value = values?.[i], shown = known(value);
    const far = Math.min(Math.abs(shown ? value : 0), REACH) / REACH * 50;
    return {
      name: WORDS[name] || name.replaceAll("_", " "), text: shown ? `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(1)}` : "–",
      left: shown && value < 0 ? 50 - far : 50, width: far, kind: !shown ? "" : Math.abs(value) > 4 ? "bad" : Math.abs(value) > 2 ? "watch" : "fine", middle: true,
    };
  }));
}

// Steering to the left or right, throttle forward or back.
export function drawGauges(root, moment) {
  fill(root, ["steering", "throttle"].filter((name) => known(moment[name])).map((name) => {
    const value = Math.max(-1, Math.min(1, moment[name])), words = name === "throttle" ? ["", "back "] : ["right ", "left "];
    return { name, text: `${Math.abs(value) < 0.005 ? "" : words[Number(value < 0)]}${Math.abs(value).toFixed(2)}`, left: value < 0 ? 50 + 50 * value : 50, width: 50 * Math.abs(value), kind: "fine", middle: true };
  }));
}

function fill(root, rows) {
  while (root.children.length > rows.length) root.lastChild.remove();
  rows.forEach((row, i) => {
    let item = root.children[i];
    if (!item) {
      item = document.createElement("li");
      item.innerHTML = '<span class="bar-name"></span><span class="bar" aria-hidden="true"><i></i></span><span class="bar-text number"></span>';
      root.append(item);
    }
    const [name, bar, text] = item.children;
    if (name.textContent !== row.name) name.textContent = row.name;
    if (text.textContent !== row.text) text.textContent = row.text;
    bar.classList.toggle("from-middle", Boolean(row.middle));
    bar.firstChild.className = row.kind;
    bar.firstChild.style.left = `${row.left}%`;
    bar.firstChild.style.width = `${row.width}%`;
  });
}
