// A run out of its compact form: moments with the names that the live cockpit uses, made when they are asked for.

const UNKNOWN = 65535;

function bytes(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
}

export class Series {
  constructor(packed) {
    Object.assign(this, { about: packed, name: packed.name, length: packed.length, rate_hz: packed.rate_hz, horizons: packed.horizons });
    this.t = new Float64Array(bytes(packed.t));
    this.index = new Float64Array(bytes(packed.index));
    const Moment = momentClass(packed, this.t);
    this.moments = Array.from({ length: packed.length }, (_, row) => new Moment(row));
    this.end = this.length ? this.t[this.length - 1] : 0;
  }

  // The last record that is not after t; the first one before all.
  row(t) {
    let low = 0, high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.t[middle] <= t + 1e-6) low = middle; else high = middle - 1;
    }
    return low;
  }

  between(begin, end) {
    return this.moments.slice(Math.max(0, this.row(begin) - 1), this.row(end) + 2);
  }

  has(name) {
    return name in this.about.numbers;
  }
}

// Getters instead of values: ten thousand records with forty numbers each are read only where they are drawn.
function momentClass(packed, times) {
  class Moment {
    constructor(row) { this.row = row; }
    get t() { return times[this.row]; }
  }
  for (const [name, column] of Object.entries(packed.numbers)) {
    const data = new Uint16Array(bytes(column.data)), step = (column.to - column.from) / 65534;
    const value = (at) => {
      if (data[at] === UNKNOWN) return NaN;
      const found = column.from + data[at] * step;
      return column.whole ? Math.round(found) : found;
    };
    const get = column.vector
      ? function () { return Array.from({ length: column.width }, (_, k) => value(this.row * column.width + k)); }
      : function () { return value(this.row); };
    Object.defineProperty(Moment.prototype, name, { get });
  }
  for (const [name, column] of Object.entries(packed.words)) {
    const data = new Uint16Array(bytes(column.data));
    Object.defineProperty(Moment.prototype, name, { get() { return column.words[data[this.row]] ?? ""; } });
  }
  return Moment;
}
