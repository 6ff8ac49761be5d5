// The track from above with the car's way on it; without a known track, the way alone.
import { colours, known, prepare } from "./canvas.js";

const BESIDE_M = 0.2; // room for the car's dot

export class TrackMap {
  constructor(canvas) {
    this.canvas = canvas;
    this.jump = 1; // metres between two moments: beyond it, the car was put elsewhere
  }

  // track: { points: [[x, y]], half_width_m } or null; way: moments with x and y; here: the moment of the car.
  draw(track, way, here) {
    const paper = prepare(this.canvas);
    if (!paper) return;
    const { g, width, height } = paper, colour = colours();
    const places = way.filter((m) => known(m.x) && known(m.y));
    const points = track ? track.points : places.map((m) => [m.x, m.y]);
    if (!points.length) return;
    const edge = (track?.half_width_m || 0.2) + 0.25;
    const around = (of, way) => [...points.map((p) => p[of] - edge), ...points.map((p) => p[of] + edge), ...way.map((v) => v - BESIDE_M), ...way.map((v) => v + BESIDE_M)];
    const xs = around(0, places.map((m) => m.x)), ys = around(1, places.map((m) => m.y)); // a car that has left the track stays in view
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const scale = Math.min(width / (right - left), height / (high - low));
    const x = (m) => width / 2 + (m - (left + right) / 2) * scale, y = (m) => height / 2 - (m - (low + high) / 2) * scale;
    if (track) {
      const outline = new Path2D();
      points.forEach(([px, py], i) => (i ? outline.lineTo(x(px), y(py)) : outline.moveTo(x(px), y(py))));
      outline.closePath();
      g.lineJoin = "round";
      g.strokeStyle = colour.track;
      g.lineWidth = 2 * track.half_width_m * scale;
      g.stroke(outline);
      g.strokeStyle = colour.quiet;
      g.lineWidth = 1;
      g.setLineDash([6, 6]);
      g.stroke(outline);
      g.setLineDash([]);
    }
    g.lineWidth = 2.5;
    for (let i = 1; i < places.length; i++) {
      const [a, b] = [places[i - 1], places[i]];
      if (Math.hypot(a.x - b.x, a.y - b.y) > this.jump || b.hit) continue;
      g.strokeStyle = b.inject_protocol ? colour["line-2"] : colour["line-1"];
      g.beginPath();
      g.moveTo(x(a.x), y(a.y));
      g.lineTo(x(b.x), y(b.y));
      g.stroke();
    }
    if (here && known(here.x) && known(here.y)) {
      g.fillStyle = colour.ink;
      g.beginPath();
      g.arc(x(here.x), y(here.y), 7, 0, 7);
      g.fill();
      g.strokeStyle = colour.card;
      g.lineWidth = 2;
      g.stroke();
    }
  }
}
