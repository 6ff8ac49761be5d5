// One large dial: calibrated confidence at one horizon beside what the predictor alone says, the alarm's state and its reason in words.
import { known } from "./canvas.js";

const ARC = "M 12 100 A 88 88 0 0 1 188 100";
const SHAPES = {
  none: '<circle cx="12" cy="12" r="10"/><path class="cut" d="M7 12.5l3.5 3.5L17 9"/>',
  watch: '<path d="M12 1.5L23 22H1z"/><path class="cut" d="M12 8.5v6.5M12 18v.5"/>',
  danger: '<path d="M7.5 1.5h9l6 6v9l-6 6h-9l-6-6v-9z"/><path class="cut" d="M12 6v8M12 17.5v.5"/>',
  off: '<circle cx="12" cy="12" r="9" class="hollow"/>',
};
const WORDS = { none: "No alarm", watch: "Watch", danger: "Danger", off: "No alarm system" };

export class Dial {
  // idle: the word where no alarm is known and nothing is wrong.
  constructor(root, idle = "Monitor on") {
    this.idle = idle;
    root.innerHTML = `
      <div class="dial-face" role="img" aria-label="confidence not known">
        <div class="dial-arc"><svg viewBox="-10 -12 220 124" aria-hidden="true"><path class="dial-track" pathLength="100" d="${ARC}"/>
          <path class="dial-value" pathLength="100" d="${ARC}"/><path class="dial-half" d="M100 6v16"/><path class="dial-raw" d="M100 2l-7 -13h14z" hidden/></svg>
        <div class="dial-number" aria-hidden="true">–</div></div>
        <div class="dial-label" aria-hidden="true"></div>
        <div class="dial-meaning quiet" aria-hidden="true"></div>
        <div class="dial-beside" aria-hidden="true"></div>
      </div>
      <div class="alarm"><svg viewBox="0 0 24 24" aria-hidden="true"></svg><strong></strong></div>
      <p class="reason"></p>`;
    const find = (name) => root.querySelector(name);
    this.root = root;
    this.face = find(".dial-face"); this.value = find(".dial-value"); this.number = find(".dial-number");
    this.label = find(".dial-label"); this.meaning = find(".dial-meaning"); this.raw = find(".dial-raw"); this.beside = find(".dial-beside"); this.shape = find(".alarm svg"); this.word = find(".alarm strong"); this.reason = find(".reason");
  }

  // moment: one tick; index: which horizon; ahead: that horizon in words; meaning: what counts as safe, where it is known.
  show(moment, index, ahead, meaning = "") {
    const confidence = moment.confidence?.[index];
    const percent = known(confidence) ? Math.round(100 * confidence) : null;
    this.value.style.strokeDasharray = `${percent ?? 0} 200`;
    this.number.textContent = percent === null ? "–" : `${percent} %`;
    put(this.label, percent === null ? "" : `safe ${ahead}: ${certainty(confidence)}`);
    put(this.meaning, percent === null || !meaning ? "" : meaning);
    const alone = this.showRaw(percent === null ? null : moment.p_safe?.[index]);
    this.face.setAttribute("aria-label", percent === null ? "confidence not known" : `calibrated confidence: ${percent} percent safe ${ahead}, ${certainty(confidence)}${meaning && `, ${meaning}`}${alone === null ? "" : `; the predictor alone says ${alone} percent`}`);
    const alarm = WORDS[moment.alarm] && moment.alarm !== "off" ? moment.alarm : "off";
    const status = (moment.status || "").replace(/^ok\b.*/, "").replace(/, grade \w+$/, ""); // the grade stands among the facts
    this.root.dataset.alarm = alarm;
    if (this.shown !== alarm) this.shape.innerHTML = SHAPES[(this.shown = alarm)];
    put(this.word, alarm === "off" ? (moment.status === undefined ? "Monitor off" : status ? `Monitor: ${status}` : this.idle) : WORDS[alarm]);
    const reason = moment.reason || (alarm === "off" || !status ? "" : `monitor: ${status}`);
    put(this.reason, reason);
  }

  // A mark outside the arc: the further it is from the end of the arc, the more the anomalies have taken away of its certainty.
  showRaw(value) {
    const percent = known(value) ? Math.round(100 * value) : null;
    this.raw.toggleAttribute("hidden", percent === null);
    if (percent !== null) this.raw.setAttribute("transform", `rotate(${1.8 * (percent - 50)} 100 100)`);
    put(this.beside, percent === null ? "" : `▾ predictor alone ${percent} %`);
    return percent;
  }
}

// A low number can be as sure as a high one; only the middle of the dial says that the monitor cannot tell.
function certainty(p) {
  const sure = Math.max(p, 1 - p);
  return sure < 0.75 ? "unsure" : sure < 0.9 ? "fairly sure" : "sure";
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
