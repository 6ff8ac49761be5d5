// Floor colours: pick road and not-road in a few frames, draw the region before the car, see the shares over the drive.
import { drawLarge, loaded, placeIn } from "./clips.js";

const TOOLS = { road: "Pick road", not_road: "Pick not-road", region: "Draw the region" };
const $ = (id) => document.getElementById(id);
const share = (value) => `${(100 * value).toFixed(1)} %`;

export class Floor {
  constructor(send, problem) {
    Object.assign(this, { send, problem, tool: "road", at: null, from: null });
    for (const [tool, text] of Object.entries(TOOLS)) {
      const button = Object.assign(document.createElement("button"), { textContent: text, className: "plain" });
      button.dataset.tool = tool;
      button.addEventListener("click", () => this.take(tool));
      $("tools").append(button);
    }
    this.take("road");
    const canvas = $("floor-frame");
    canvas.style.touchAction = "none";
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); this.from = this.place(event); });
    canvas.addEventListener("pointermove", (event) => { if (this.from && this.tool === "region") this.outline(this.box(this.from, this.place(event))); });
    canvas.addEventListener("pointerup", (event) => this.done(this.place(event)));
    $("floor-at").addEventListener("input", () => { this.at = Number($("floor-at").value); this.draw(); });
    $("forget").addEventListener("click", () => this.send("floor", { forget: true, use: false }));
    $("use").addEventListener("click", () => this.send("floor", { use: !this.state.floor.used }));
  }

  take(tool) {
    this.tool = tool;
    for (const button of $("tools").children) button.setAttribute("aria-pressed", button.dataset.tool === tool);
  }

  show(state) {
    this.state = state;
    $("floor-at").max = state.frames - 1;
    if (this.at === null) { this.at = state.question?.at ?? 0; $("floor-at").value = this.at; }
    for (const [id, colours] of [["road", state.floor.road], ["not-road", state.floor.not_road]]) {
      $(id).replaceChildren(...colours.map((rgb) => Object.assign(document.createElement("span"), { style: `background: rgb(${rgb.join(",")})`, title: rgb.join(", ") })));
    }
    const { drive, check, used } = state.floor;
    $("use").textContent = used ? "Use the answers instead" : "Use these labels";
    $("use").disabled = !drive;
    $("floor-check").textContent = !drive ? "Pick at least one colour of each kind." : this.says(check) + (used ? " The label file comes from these colours." : "");
    this.drawDrive(drive);
    if (!$("floor").hidden) this.draw();
  }

  says(check) {
    const known = check.answers ? ` Of ${check.answers} answered frames that it labels, ${share(check.share)} agree (${share(check.low)} to ${share(check.high)}).` : " Answer some frames to see how right it is.";
    return `It labels ${share(check.labelled_share)} of the frames.${known}`;
  }

  async draw() {
    const at = this.at;
    try {
      const picture = await loaded(`api/floor_picture?at=${at}&now=${Date.now()}`);
      if (at !== this.at) return;
      this.picture = picture;
      this.outline(this.state.floor.region);
    } catch (problem) { this.problem(problem); }
  }

  outline([left, top, right, bottom]) {
    const canvas = $("floor-frame"), g = drawLarge(canvas, this.picture);
    for (const [colour, line] of [["#000", 6], ["#fff", 2.5]]) {
      g.strokeStyle = colour;
      g.lineWidth = line;
      g.strokeRect(left * canvas.width, top * canvas.height + 1, (right - left) * canvas.width, (bottom - top) * canvas.height - 3);
    }
  }

  place(event) { return placeIn($("floor-frame"), event); }

  box(a, b) { return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]), Math.max(a[1], b[1])]; }

  done(to) {
    const from = this.from;
    this.from = null;
    if (!from) return;
    if (this.tool !== "region") this.send("pick", { at: this.at, x: to[0], y: to[1], kind: this.tool });
    else if (Math.abs(to[0] - from[0]) > 0.04 && Math.abs(to[1] - from[1]) > 0.04) this.send("floor", { region: this.box(from, to) });
    else this.outline(this.state.floor.region);
  }

  drawDrive(drive) {
    const canvas = $("drive"), g = canvas.getContext("2d");
    canvas.width = drive ? drive.length : 1;
    canvas.height = 100;
    (drive || []).forEach(([road, other], x) => {
      g.fillStyle = "#00694c";
      g.fillRect(x, 100 - 100 * road, 1, 100 * road);
      g.fillStyle = "#b02a00";
      g.fillRect(x, 0, 1, 100 * other);
    });
  }
}
