// Frames of the drive, fetched in clips of some dozens and drawn from them.

const KEPT = 24;

export class Clips {
  constructor({ frames, columns, cell }) {
    this.frames = frames;
    this.columns = columns;
    this.cell = cell;
    this.pictures = new Map();
  }

  picture(number) {
    if (!this.pictures.has(number)) {
      this.pictures.set(number, loaded(`api/clip?number=${number}`));
      if (this.pictures.size > KEPT) this.pictures.delete(this.pictures.keys().next().value);
    }
    return this.pictures.get(number);
  }

  fetch(at) { this.picture(Math.floor(at / this.frames)).catch(() => {}); }

  async draw(canvas, at) {
    const number = Math.floor(at / this.frames);
    canvas.dataset.at = at;
    const picture = await this.picture(number).catch((problem) => { this.pictures.delete(number); throw problem; });
    if (canvas.dataset.at === String(at)) drawCell(canvas, picture, at % this.frames, this.columns, this.cell);
  }
}

export function drawCell(canvas, picture, place, columns, [width, height]) {
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").drawImage(picture, (place % columns) * width, Math.floor(place / columns) * height, width, height, 0, 0, width, height);
}

export function loaded(address) {
  return new Promise((done, failed) => {
    const picture = new Image();
    picture.onload = () => done(picture);
    picture.onerror = () => failed(new Error("a picture did not come: is the command still running?"));
    picture.src = address;
  });
}
