// Probabilities over the time ahead: that the car stays in its lane; and of holding its line raw, averaged over views (TTA), calibrated.
import { colours, font, known, prepare, textSize } from "./canvas.js";

export const LINES = [
  { key: "p_safe", name: "raw", colour: "line-4", dash: [2, 4], mark: "square" },
  { key: "p_tta", name: "TTA", colour: "line-1", dash: [8, 4], mark: "triangle" },
  { key: "confidence", name: "calibrated", colour: "line-2", dash: [10, 3, 2, 3], mark: "cross" },
  { key: "stays", name: "stays in its lane", colour: "line-3", dash: [], mark: "circle" },
];

export class Horizons {
  constructor(canvas, legend) {
    this.canvas = canvas;
    this.legend = legend;
  }

  draw(moment, horizons, rate_hz, index) {
    const paper = prepare(this.canvas);
    if (!paper || !horizons?.length) return;
    const { g, width, height } = paper, colour = colours(), size = textSize();
    const left = 2.6 * size, low = height - 1.7 * size, top = 0.7 * size, right = width - 8;
    const most = horizons[horizons.length - 1];
    const x = (k) => left + (k / most) * (right - left), y = (p) => low - p * (low - top);
    g.font = font(size);
    g.fillStyle = colour.quiet;
    g.strokeStyle = colour.rule;
    g.lineWidth = 1;
    for (const p of [0, 0.5, 1]) {
      g.beginPath();
      g.moveTo(left, y(p));
      g.lineTo(right, y(p));
      g.stroke();
      g.fillText(p.toFixed(1), 0, y(p) + 0.35 * size);
    }
    const seconds = Math.max(1, Math.ceil(most / rate_hz / 5));
    for (let s = 0; s * rate_hz <= most; s += seconds) g.fillText(`${s} s`, Math.min(x(s * rate_hz), right - 1.6 * size), height - 2);
    g.strokeStyle = colour.quiet;
    g.setLineDash([3, 3]);
    g.beginPath();
    g.moveTo(x(horizons[index]), top);
    g.lineTo(x(horizons[index]), low);
    g.stroke();
    for (const { key, colour: name, dash, mark } of LINES) {
      const values = moment[key];
      if (!Array.isArray(values)) continue;
      g.strokeStyle = g.fillStyle = colour[name];
      g.setLineDash(dash);
      g.lineWidth = key === "stays" ? 3 : 2;
      g.beginPath();
      values.forEach((p, i) => known(p) && (i ? g.lineTo(x(horizons[i]), y(p)) : g.moveTo(x(horizons[i]), y(p))));
      g.stroke();
      g.setLineDash([]);
      values.forEach((p, i) => known(p) && drawMark(g, mark, x(horizons[i]), y(p)));
    }
    const present = LINES.filter(({ key }) => Array.isArray(moment[key])).map(({ name }) => name).join();
    if (present !== this.present) this.writeLegend((this.present = present));
  }

  writeLegend() {
    const names = this.present.split(",");
    this.legend.innerHTML = LINES.filter(({ name }) => names.includes(name)).map(({ name, colour, dash }) =>
      `<span><svg viewBox="0 0 30 8" aria-hidden="true"><path d="M1 4h28" fill="none" stroke="var(--${colour})" stroke-width="3" stroke-dasharray="${dash.join(" ")}"/></svg>${name}</span>`).join("");
  }
}

function drawMark(g, mark, x, y) {
  g.beginPath();
  if (mark === "circle") g.arc(x, y, 3.5, 0, 7);
  else if (mark === "square") g.rect(x - 2.5, y - 2.5, 5, 5);
  else if (mark === "triangle") { g.moveTo(x, y - 4); g.lineTo(x + 4, y + 3); g.lineTo(x - 4, y + 3); }
  else { g.lineWidth = 2; g.moveTo(x - 3, y - 3); g.lineTo(x + 3, y + 3); g.moveTo(x - 3, y + 3); g.lineTo(x + 3, y - 3); g.stroke(); return; }
  g.fill();
}
