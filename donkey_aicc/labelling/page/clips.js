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

// As large as it is good to look at, in whole pixels; gives what to draw further with.
export function drawLarge(canvas, picture) {
  const g = canvas.getContext("2d"), zoom = Math.max(1, Math.round(640 / picture.width));
  canvas.width = zoom * picture.width;
  canvas.height = zoom * picture.height;
  g.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return g;
}

export function placeIn(canvas, event) { // in shares of the picture, which may have margins inside the canvas
  const box = canvas.getBoundingClientRect(), zoom = Math.min(box.width / canvas.width, box.height / canvas.height);
  const x = (event.clientX - box.left - (box.width - zoom * canvas.width) / 2) / (zoom * canvas.width);
  const y = (event.clientY - box.top - (box.height - zoom * canvas.height) / 2) / (zoom * canvas.height);
  return [Math.min(Math.max(x, 0), 1), Math.min(Math.max(y, 0), 1)];
}
