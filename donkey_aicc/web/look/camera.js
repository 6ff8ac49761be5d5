// The camera picture, and over it where it cannot be rebuilt.

const SIDE = 16;

export class Camera {
  // key: what the colours mean, shown with them.
  constructor(image, heat, key) {
    Object.assign(this, { image, heat, key });
    this.small = Object.assign(document.createElement("canvas"), { width: SIDE, height: SIDE });
    this.url = null;
  }

  showJpeg(bytes) {
    const url = URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
    this.image.src = url;
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = url;
  }

  // heat: base64 of 16 x 16 bytes, or null; 128 as usual, 255 forty times the nominal error, 0 all detail lost.
  showHeat(heat) {
    const g = this.heat.getContext("2d");
    g.clearRect(0, 0, this.heat.width, this.heat.height);
    this.key.hidden = !heat;
    if (!heat) return;
    const values = Uint8Array.from(atob(heat), (c) => c.charCodeAt(0));
    const picture = new ImageData(SIDE, SIDE);
    values.forEach((v, i) => picture.data.set(v < 128 ? [40, 120, 255, 1.1 * (128 - v)] : [255, Math.max(0, 220 - 1.6 * (v - 128)), 0, Math.min(150, 1.6 * (v - 128))], 4 * i));
    this.small.getContext("2d").putImageData(picture, 0, 0);
    g.imageSmoothingEnabled = true;
    g.drawImage(this.small, 0, 0, this.heat.width, this.heat.height);
  }
}
