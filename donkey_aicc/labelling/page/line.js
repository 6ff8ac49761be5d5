// A line on the floor: click on it in a few frames, see what is found, write its offsets as cte.
import { drawLarge, loaded, placeIn } from "./clips.js";

const $ = (id) => document.getElementById(id);

export class Line {
  constructor(send, problem) {
    Object.assign(this, { send, problem, at: null });
    $("line-frame").addEventListener("click", (event) => {
      const [x, y] = placeIn($("line-frame"), event);
      this.send("pick_line", { at: this.at, x, y });
    });
    $("line-at").addEventListener("input", () => { this.at = Number($("line-at").value); this.draw(); });
    $("line-propose").addEventListener("click", () => this.working("Looking for a line ...", { propose: true }));
    $("line-write").addEventListener("click", () => this.working("Looking at every frame ...", { write: true }));
    $("line-forget").addEventListener("click", () => this.send("line", { forget: true }));
  }

  async working(text, body) {
    $("line-said").textContent = text;
    if (!await this.send("line", body)) $("line-said").textContent = "";
  }

  show(state) {
    const { picks, colour, said } = state.line;
    $("line-at").max = state.frames - 1;
    if (this.at === null) { this.at = state.question?.at ?? 0; $("line-at").value = this.at; }
    $("line-picks").replaceChildren(...picks.map((rgb) => Object.assign(document.createElement("span"), { style: `background: rgb(${rgb.join(",")})`, title: rgb.join(", ") })));
    $("line-colour").textContent = colour && `--line ${colour}`;
    $("line-write").disabled = !colour;
    $("line-said").textContent = said;
    if (!$("line").hidden) this.draw();
  }

  async draw() {
    const at = this.at;
    try {
      const picture = await loaded(`api/line_picture?at=${at}&now=${Date.now()}`);
      if (at === this.at) drawLarge($("line-frame"), picture);
    } catch (problem) { this.problem(problem); }
  }
}
