// Where the runs and their pictures come from: the server beside the command, or this very file when it was sent on.

export async function load() {
  const inside = document.getElementById("aicc-data");
  if (inside) return new InThisFile(JSON.parse(inside.textContent));
  const answer = await fetch("api/runs");
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error || answer.statusText);
  return new FromServer(said.runs);
}

class FromServer {
  constructor(runs) { this.runs = runs; }
  frame(run, row) { return `api/frame?run=${run}&row=${row}`; }
  async heat(run, row) {
    const answer = await fetch(`api/heat?run=${run}&row=${row}`);
    return answer.ok ? (await answer.json()).heat : null;
  }
}

class InThisFile {
  constructor({ runs, frames, note }) {
    this.runs = runs;
    this.note = note;
    this.frames = frames.map(({ rows, jpegs }) => ({ rows, jpegs }));
  }
  // The picture at that record, or the nearest before it that is in the file.
  frame(run, row) {
    const { rows, jpegs } = this.frames[run];
    let low = 0, high = rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (rows[middle] <= row) low = middle; else high = middle - 1;
    }
    return rows.length ? `data:image/jpeg;base64,${jpegs[low]}` : "";
  }
  async heat() { return null; }
}
