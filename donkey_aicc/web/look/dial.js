// One large dial: the probability that the car stays in its lane, the state in one of four words, why, and what to do.
import { known } from "./canvas.js";

const ARC = "M 12 100 A 88 88 0 0 1 188 100";
export const STATES = { "All well": "well", Careful: "careful", Danger: "danger", "Monitor blind": "blind" };
const SHAPES = {
  well: '<circle cx="12" cy="12" r="10"/><path class="cut" d="M7 12.5l3.5 3.5L17 9"/>',
  careful: '<path d="M12 1.5L23 22H1z"/><path class="cut" d="M12 8.5v6.5M12 18v.5"/>',
  danger: '<path d="M7.5 1.5h9l6 6v9l-6 6h-9l-6-6v-9z"/><path class="cut" d="M12 6v8M12 17.5v.5"/>',
  blind: '<path d="M1 12c5-9 17-9 22 0c-5 9-17 9-22 0z"/><path class="cut" d="M3 22L21 2"/>',
  off: '<circle cx="12" cy="12" r="9" class="hollow"/>',
};

export class Dial {
  // idle: the word where no alarm is known.
  constructor(root, idle = "No alarm system") {
    this.idle = idle;
    root.innerHTML = `
      <div class="dial-face" role="img" aria-label="not known">
        <div class="dial-arc"><svg viewBox="-10 2 220 110" aria-hidden="true"><path class="dial-track" pathLength="100" d="${ARC}"/>
          <path class="dial-value" pathLength="100" d="${ARC}"/><path class="dial-half" d="M100 6v16"/></svg>
        <div class="dial-number" aria-hidden="true">–</div></div>
        <div class="dial-label" aria-hidden="true"></div>
        <div class="dial-beside quiet" aria-hidden="true"></div>
      </div>
      <div class="alarm"><svg viewBox="0 0 24 24" aria-hidden="true"></svg><strong></strong></div>
      <p class="reason"></p>
      <p class="advice"></p>
      <p class="note quiet"></p>`;
    this.root = root;
    this.part = (name) => root.querySelector(name);
  }

  // moment: one tick; index: which horizon; lasts: that horizon in words; about: { beside, no_dial } of the bundle.
  show(moment, index, lasts, about) {
    const stays = moment.stays?.[index], percent = known(stays) ? Math.round(100 * stays) : null;
    const holds = about.beside && known(moment.confidence?.[index]) ? Math.round(100 * moment.confidence[index]) : null;
    const label = percent === null ? "" : `stays in its lane for ${lasts}`, beside = holds === null ? "" : `holds its line, ${about.beside}: ${holds} %`;
    this.part(".dial-face").hidden = Boolean(about.no_dial);
    this.part(".dial-value").style.strokeDasharray = `${percent ?? 0} 200`;
    this.put(".dial-number", percent === null ? "–" : `${percent} %`);
    this.put(".dial-label", label);
    this.put(".dial-beside", beside);
    this.part(".dial-face").setAttribute("aria-label", [percent === null ? "not known whether it stays in its lane" : `${percent} percent: ${label}`, beside].filter(Boolean).join("; "));
    const state = STATES[moment.state] || "off";
    this.root.dataset.state = state;
    if (this.shown !== state) this.part(".alarm svg").innerHTML = SHAPES[(this.shown = state)];
    this.put(".alarm strong", state === "off" ? (moment.status === undefined && moment.alarm === undefined ? "Monitor off" : this.idle) : moment.state);
    const unwell = (moment.health || "").replace(/^ok$/, "");
    this.put(".reason", moment.reason || unwell);
    this.put(".advice", moment.advice || "");
    const status = (moment.status || "").replace(/^ok\b(, )?/, "").replace(/(, )?grade \w+$/, ""); // the grade stands among the facts
    this.put(".note", [about.no_dial, status && `monitor: ${status}`].filter(Boolean).join(" · "));
  }

  put(name, text) {
    const node = this.part(name);
    if (node.textContent !== text) node.textContent = text;
  }
}
