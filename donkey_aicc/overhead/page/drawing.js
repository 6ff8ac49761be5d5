"use strict";
// Draws the frame, the mask, the projected track and the points that were set. Everything is in pixels of the video.

const COLOURS = { floor: "#ffb000", line: "#00d0ff", lens: "#ff6df0", track: "#ffffff", grid: "rgba(255,255,255,.25)", blob: "#5dff7a" };

function drawScene(context, scene) {
  const { image, mask, shown, points, tool, unit } = scene;
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  if (image) context.drawImage(image, 0, 0);
  if (mask) context.drawImage(mask, 0, 0);
  context.lineJoin = "round";
  for (const line of shown.grid_px || []) strokeLine(context, line, COLOURS.grid, unit);
  if (shown.track_px) {
    const closed = shown.track_px.concat([shown.track_px[0]]);
    strokeLine(context, closed, "rgba(0,0,0,.55)", 5 * unit);
    strokeLine(context, closed, COLOURS.track, 2.5 * unit);
  }
  strokeLine(context, points.lens, COLOURS.lens, 2 * unit);
  if (!shown.track_px) strokeLine(context, points.line, COLOURS.line, 2 * unit);
  for (const name of ["line", "lens", "floor"]) {
    const active = name === tool;
    points[name].forEach((point, i) => drawPoint(context, point, COLOURS[name], unit, active, name === "floor" ? i + 1 : null));
  }
  if (shown.track_px) drawArrows(context, shown.track_px, unit);
  drawBlobs(context, shown, unit);
}

function strokeLine(context, line, colour, width) {
  if (line.length < 2) return;
  context.beginPath();
  line.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
}

function drawArrows(context, track, unit) {
  const every = Math.max(1, Math.floor(track.length / 10));
  context.fillStyle = COLOURS.track;
  for (let i = 0; i < track.length; i += every) {
    const [x, y] = track[i];
    const [nextX, nextY] = track[(i + 1) % track.length];
    context.save();
    context.translate(x, y);
    context.rotate(Math.atan2(nextY - y, nextX - x));
    context.beginPath();
    context.moveTo(11 * unit, 0);
    context.lineTo(-7 * unit, 7 * unit);
    context.lineTo(-7 * unit, -7 * unit);
    context.closePath();
    context.fill();
    context.lineWidth = 1.5 * unit;
    context.strokeStyle = "#000";
    context.stroke();
    context.restore();
  }
}

function drawBlobs(context, shown, unit) {
  context.font = `${13 * unit}px system-ui, sans-serif`;
  (shown.blobs_px || []).forEach(([x, y], i) => {
    context.beginPath();
    context.arc(x, y, 16 * unit, 0, 2 * Math.PI);
    context.strokeStyle = COLOURS.blob;
    context.lineWidth = 2 * unit;
    context.stroke();
    writeText(context, `${(100 * shown.blobs_cte_m[i]).toFixed(0)} cm`, x + 19 * unit, y + 5 * unit, COLOURS.blob, unit);
  });
}

function drawPoint(context, [x, y], colour, unit, active, name) {
  context.beginPath();
  context.arc(x, y, (active ? 5 : name === null ? 2 : 4) * unit, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
  context.lineWidth = (active ? 1.5 : 0.5) * unit;
  context.strokeStyle = "#000";
  context.stroke();
  if (name !== null) {
    context.font = `600 ${15 * unit}px system-ui, sans-serif`;
    writeText(context, name, x + 9 * unit, y - 8 * unit, colour, unit);
  }
}

function writeText(context, text, x, y, colour, unit) {
  context.lineWidth = 3 * unit;
  context.strokeStyle = "#000";
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

function drawLoupe(loupe, source, x, y) {
  const context = loupe.getContext("2d");
  const side = loupe.width, shown = side / 5;
  context.imageSmoothingEnabled = false;
  context.fillStyle = "#000";
  context.fillRect(0, 0, side, side);
  context.drawImage(source, x - shown / 2, y - shown / 2, shown, shown, 0, 0, side, side);
  context.strokeStyle = "rgba(255,255,255,.9)";
  context.beginPath();
  context.moveTo(side / 2, side / 2 - 14);
  context.lineTo(side / 2, side / 2 + 14);
  context.moveTo(side / 2 - 14, side / 2);
  context.lineTo(side / 2 + 14, side / 2);
  context.stroke();
}
