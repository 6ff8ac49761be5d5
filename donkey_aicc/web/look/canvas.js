// Canvases as sharp as the screen, in the colours of look.css.

export function colours() {
  const style = getComputedStyle(document.documentElement);
  return new Proxy({}, { get: (_, name) => style.getPropertyValue(`--${name}`).trim() });
}

// Returns { g, width, height } in CSS pixels, cleared; null while the canvas is not shown.
export function prepare(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !height) return null;
  const scale = Math.min(window.devicePixelRatio || 1, 3);
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  return { g, width, height };
}

export function font(px, weight = "") {
  return `${weight} ${px}px system-ui, "DejaVu Sans", sans-serif`;
}

export function textSize() {
  return 0.8 * parseFloat(getComputedStyle(document.documentElement).fontSize);
}

export const known = (value) => typeof value === "number" && Number.isFinite(value);
