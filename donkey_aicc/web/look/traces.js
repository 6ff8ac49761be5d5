// Values over time, one strip each; injected intervals are shaded and named, alarms are a bar along the top.
// Where there is room, name and value stand beside the strip, to be read from afar; else above it.
import { colours, font, known, prepare, textSize } from "./canvas.js";
import { STATES } from "./dial.js";

const BESIDE = 12, IN_LINE = 15, WIDE = 32; // widths in letters' heights

// rows: [{ name, of: (moment) => number, from, to, colour }]. Moments are in order of t (seconds).
export class Traces {
  constructor(canvas, rows) {
    this.canvas = canvas;
    this.rows = rows;
  }

  // Draws [begin, end] in seconds; cursor marks a moment (replay), null for none.
  draw(moments, begin, end, cursor = null) {
    const paper = prepare(this.canvas);
    if (!paper) return;
    const { g, width, height } = paper, colour = colours(), size = textSize();
    const top = size + 8, each = (height - top) / this.rows.length;
    const low = each - 12 < 2.4 * size; // no room for two lines beside a strip
    const left = width > WIDE * size ? (low ? IN_LINE : BESIDE) * size : 0;
    const x = (t) => left + ((t - begin) / (end - begin)) * (width - left);
    this.shade(g, moments, x, left, width, height, size, colour);
    const shown = cursor === null ? moments[moments.length - 1] : cursor;
    this.rows.forEach((row, number) => {
      const bottom = top + (number + 1) * each - 5, tall = left ? each - 12 : each - size - 12;
      const y = (value) => bottom - (Math.min(Math.max(value, row.from), row.to) - row.from) / (row.to - row.from) * tall;
      g.strokeStyle = colour.rule;
      g.lineWidth = 1;
      for (const level of row.from < 0 ? [row.from, 0, row.to] : [row.from, row.to]) line(g, left, y(level), width, y(level));
      g.strokeStyle = colour[row.colour];
      g.lineWidth = 2;
      g.save();
      g.beginPath();
      g.rect(left, 0, width - left, height);
      g.clip();
      g.beginPath();
      let drawing = false, last = null;
      for (const moment of moments) {
        const value = row.of(moment);
        if (!known(value) || (last !== null && moment.t - last > 1)) drawing = false;
        if (known(value)) {
          drawing ? g.lineTo(x(moment.t), y(value)) : g.moveTo(x(moment.t), y(value));
          drawing = true;
        }
        last = moment.t;
      }
      g.stroke();
      g.restore();
      const value = shown ? row.of(shown) : null;
      label(g, row, known(value) ? value.toFixed(2) : "–", { left, bottom, tall, size, colour, low });
    });
    if (cursor !== null) {
      g.strokeStyle = colour.ink;
      g.lineWidth = 1.5;
      line(g, x(cursor.t), 0, x(cursor.t), height);
    }
  }

  shade(g, moments, x, edge, width, height, size, colour) {
    let start = null, name = "", labelEnd = -1;
    const close = (t) => {
      if (start === null) return;
      g.fillStyle = colour.shade;
      const from = Math.max(x(start), edge);
      g.fillRect(from, 0, Math.max(x(t) - from, 2), height);
      g.fillStyle = colour.ink;
      g.font = font(size, "700");
      const wide = g.measureText(name).width;
      const left = Math.min(from + 4, width - wide - 2);
      if (left > labelEnd) {
        g.fillText(name, left, size);
        labelEnd = left + wide + 6;
      }
      start = null;
    };
    for (const moment of moments) {
      const now = moment.inject_protocol ? `${moment.inject_protocol}:${moment.inject_severity ?? ""}` : "";
      if (start !== null && now !== name) close(moment.t);
      if (now && start === null) [start, name] = [moment.t, now];
    }
    if (moments.length) close(moments[moments.length - 1].t);
    let last = null;
    for (const moment of moments) { // the alarms last: they lie over the shade
      if (last !== null && ["careful", "danger", "blind"].includes(STATES[moment.state]) && moment.t - last < 1) {
        const bad = STATES[moment.state] !== "careful";
        g.fillStyle = bad ? colour["bad-fill"] : colour.watch;
        const from = Math.max(x(last), edge);
        g.fillRect(from, size + 2, Math.max(x(moment.t) - from, 1) + 0.5, bad ? 5 : 3);
      }
      last = moment.t;
    }
  }
}

// Beside the strip in its colour, the value large; or above it.
function label(g, row, text, { left, bottom, tall, size, colour, low }) {
  g.fillStyle = colour.ink;
  if (!left) {
    g.font = font(size, "600");
    outlined(g, `${row.name}  ${text}`, 4, bottom - tall - 3, colour.card);
    return;
  }
  const large = low ? 1.1 * size : Math.min(1.9 * size, 0.55 * tall), middle = bottom - tall / 2;
  g.font = font(size, "600");
  g.fillText(row.name, low ? 3.2 * size : 0, middle + (low ? 0.4 : -0.15) * size);
  g.fillStyle = colour[row.colour];
  g.font = font(large, "700");
  g.fillText(text, 0, middle + (low ? 0.4 * size : large));
}

function line(g, x1, y1, x2, y2) {
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x2, y2);
  g.stroke();
}

export function outlined(g, text, x, y, behind) {
  const fill = g.fillStyle;
  g.lineWidth = 3;
  g.strokeStyle = behind;
  g.strokeText(text, x, y);
  g.fillStyle = fill;
  g.fillText(text, x, y);
}

// The strips that live and replay share; `index` tells which horizon is read.
export function usualRows(index) {
  return [
    { name: "picture anomaly ρ", of: (m) => m.rho, from: 0, to: 1, colour: "line-1" },
    { name: "dynamics anomaly δ", of: (m) => m.delta, from: 0, to: 1, colour: "line-2" },
    { name: "stays in its lane", of: (m) => m.stays?.[index()], from: 0, to: 1, colour: "line-3" },
    { name: "throttle", of: (m) => m.throttle, from: -1, to: 1, colour: "line-4" },
  ];
}
