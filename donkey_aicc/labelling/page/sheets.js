// Contact sheets of each class and of the doubtful frames; a click says what a frame really is.
import { drawCell, loaded } from "./clips.js";

const KINDS = { safe: "Safe", unsafe: "Unsafe", not_driving: "Not driving", unsure: "Without a label", answers_in_doubt: "Answers in doubt" };
const BRUSHES = { safe: "✓ Safe", unsafe: "✗ Unsafe", not_driving: "❚❚ Not driving", skip: "Cannot say" };
const ABOUT = {
  safe: "What it calls safe, the least certain first.",
  unsafe: "What it calls unsafe, the least certain first.",
  not_driving: "Carried, parked or in the pit: left out of training and calibration.",
  unsure: "Not sure enough: these stay without a label unless you say what they are.",
  answers_in_doubt: "Your answers that disagree with similar ones, or contradict each other.",
};
const $ = (id) => document.getElementById(id);

export class Sheets {
  constructor(clips, send, problem) {
    Object.assign(this, { clips, send, problem, kind: "safe", page: 0, brush: "unsafe" });
    for (const [kind, text] of Object.entries(KINDS)) this.button($("kinds"), text, () => this.open(kind, 0)).dataset.kind = kind;
    for (const [brush, text] of Object.entries(BRUSHES)) {
      const button = this.button($("brushes"), text, () => this.take(brush), brush.replace("_", "-"));
      button.dataset.brush = brush;
    }
    $("back").addEventListener("click", () => this.open(this.kind, this.page - 1));
    $("more").addEventListener("click", () => this.open(this.kind, this.page + 1));
    $("again").addEventListener("click", async () => { await this.send("refit", {}); this.open(this.kind, 0); });
  }

  button(where, text, act, kind = "plain") {
    const button = Object.assign(document.createElement("button"), { textContent: text, className: kind === "skip" ? "plain" : kind });
    button.addEventListener("click", act);
    where.append(button);
    return button;
  }

  take(brush) {
    this.brush = brush;
    for (const button of $("brushes").children) button.setAttribute("aria-pressed", button.dataset.brush === brush);
  }

  async open(kind = this.kind, page = this.page) {
    try {
      const turn = (this.turn = {});
      const sheet = await (await fetch(`api/sheet?kind=${kind}&page=${page}`)).json();
      if (sheet.error) throw new Error(sheet.error);
      const picture = sheet.frames.length ? await loaded(`api/mosaic?at=${sheet.frames.map((each) => each.at).join(",")}`) : null;
      if (this.turn === turn) this.show(sheet, picture);
    } catch (problem) { this.problem(problem); }
  }

  show(sheet, picture) {
    if (sheet.kind !== this.kind || !$("brushes").querySelector("[aria-pressed=true]")) this.take(sheet.kind === "unsafe" ? "safe" : "unsafe");
    this.kind = sheet.kind;
    this.page = sheet.page;
    for (const button of $("kinds").children) button.setAttribute("aria-pressed", button.dataset.kind === this.kind);
    $("sheet-about").textContent = `${ABOUT[this.kind]} ${sheet.total} frames${sheet.total ? ". Click on those that are wrong." : "."}`;
    $("back").disabled = this.page === 0;
    $("more").disabled = !sheet.more;
    $("sheet").replaceChildren(...sheet.frames.map((each, place) => this.cell(each, picture, place)));
  }

  cell(each, picture, place) {
    const button = document.createElement("button"), canvas = document.createElement("canvas"), text = document.createElement("span");
    drawCell(canvas, picture, place, this.clips.columns, this.clips.cell);
    text.textContent = each.source === "answer" ? "your answer" : `${Math.round(100 * each.certainty)} %`;
    button.append(canvas, text);
    button.addEventListener("click", async () => {
      const brush = this.brush;
      if (await this.send("answer", { at: each.at, answer: brush })) {
        button.dataset.said = brush;
        text.textContent = BRUSHES[brush];
      }
    });
    return button;
  }
}
