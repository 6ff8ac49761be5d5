// One frame with two seconds around it; a press answers it, a long press plays on and labels the stretch.

const HOLD_MS = 350, FILM = 9, AROUND_S = 1;
const KEYS = { s: "safe", u: "unsafe", n: "not_driving" };
const WORDS = { safe: "safe", unsafe: "unsafe", not_driving: "not driving" };
const WHY = { spread: "one of many spread over the drive", unsure: "not sure here", neighbours: "its neighbours say something else" };
const $ = (id) => document.getElementById(id);

export class Asking {
  constructor(clips, send) {
    this.clips = clips;
    this.send = send;
    this.at = null;
    this.held = null;
    this.busy = false;
    this.film = Array.from({ length: FILM }, (_, i) => {
      const figure = document.createElement("figure"), offset = (i / (FILM - 1)) * 2 * AROUND_S - AROUND_S;
      figure.append(document.createElement("canvas"), offset === 0 ? "now" : `${offset > 0 ? "+" : "−"}${Math.abs(offset)}`);
      figure.classList.toggle("now", offset === 0);
      $("film").append(figure);
      return { figure, offset };
    });
    this.listen();
  }

  listen() {
    for (const button of $("answers").children) {
      button.addEventListener("pointerdown", (event) => { button.setPointerCapture(event.pointerId); this.press(button.dataset.answer); });
      button.addEventListener("pointerup", () => this.release());
      button.addEventListener("pointercancel", () => this.release());
      button.addEventListener("click", (event) => { if (event.detail === 0) this.answer(button.dataset.answer); }); // by keyboard or a helper
      button.addEventListener("contextmenu", (event) => event.preventDefault());
    }
    $("skip").addEventListener("click", () => this.answer("skip"));
    $("undo").addEventListener("click", () => this.send("undo", {}));
    $("play").addEventListener("click", () => this.play());
    addEventListener("keydown", (event) => {
      if ($("ask").hidden || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
      const key = event.key.toLowerCase();
      if (KEYS[key]) this.press(KEYS[key]);
      else if (key === "k") this.answer("skip");
      else if (key === "z" || key === "backspace") this.send("undo", {});
      else if (key === " " && event.target.tagName !== "BUTTON") this.play();
      else return;
      event.preventDefault();
    });
    addEventListener("keyup", (event) => { if (this.held && KEYS[event.key.toLowerCase()] === this.held.answer) this.release(); });
    addEventListener("blur", () => this.release());
  }

  show(state) {
    this.state = state;
    const asked = state.question;
    $("question").replaceChildren(asked ? "Is the car safe here?" : "Every moment is answered.");
    for (const button of document.querySelectorAll("#answers button, #skip, #play")) button.disabled = !asked;
    $("undo").disabled = !state.undo;
    if (!asked) return;
    $("question").append(Object.assign(document.createElement("small"), { textContent: WHY[asked.why] || "" }));
    this.at = asked.at;
    this.still();
    for (const next of state.next) this.clips.fetch(next);
  }

  still() {
    this.draw(this.at);
    const [first, last] = this.drive(this.at);
    for (const { figure, offset } of this.film) {
      const at = this.at + Math.round(offset * this.state.rate_hz);
      figure.style.visibility = at >= first && at <= last ? "visible" : "hidden";
      if (at >= first && at <= last) this.clips.draw(figure.firstChild, at).catch(() => {});
    }
  }

  draw(at) { return this.clips.draw($("frame"), at).catch((problem) => this.send(null, problem)); }

  drive(at) {
    const next = this.state.drives.findIndex((start) => start > at);
    return [this.state.drives[next - 1], this.state.drives[next] - 1];
  }

  press(answer) {
    if (this.held || this.busy || this.at === null || !this.state.question) return;
    this.held = { answer, from: this.at, until: this.at, timer: setTimeout(() => this.stretch(), HOLD_MS) };
    for (const button of $("answers").children) button.classList.toggle("held", button.dataset.answer === answer);
  }

  release() {
    const held = this.held;
    if (!held) return;
    clearTimeout(held.timer);
    this.held = null;
    for (const button of $("answers").children) button.classList.remove("held");
    $("playing").hidden = true;
    this.answer(held.answer, held.from, held.until);
  }

  async stretch() {
    const held = this.held, [, last] = this.drive(held.from), end = Math.min(last, held.from + 1900);
    await this.run(held.from, end, () => this.held === held, (at) => {
      held.until = at;
      $("playing").textContent = `${WORDS[held.answer]}: ${((at - held.from) / this.state.rate_hz).toFixed(1)} s`;
    });
  }

  async play() {
    if (this.held || this.at === null) return;
    const from = this.at, [first, last] = this.drive(from), around = Math.round(AROUND_S * this.state.rate_hz);
    const turn = (this.turn = {});
    await this.run(Math.max(first, from - around), Math.min(last, from + around), () => this.turn === turn && this.at === from && !this.held, (at) => {
      $("playing").textContent = at === from ? "now" : `${at > from ? "+" : "−"}${Math.abs((at - from) / this.state.rate_hz).toFixed(1)} s`;
    });
    if (this.turn === turn && !this.held) { $("playing").hidden = true; if (this.at !== null) this.draw(this.at); }
  }

  async run(from, end, going, shown) {
    $("playing").hidden = false;
    for (let at = from; at <= end && going(); at++) {
      const due = performance.now() + 1000 / this.state.rate_hz;
      this.clips.fetch(Math.min(at + this.clips.frames, end));
      await this.draw(at);
      if (!going()) return;
      shown(at);
      await new Promise((done) => setTimeout(done, Math.max(0, due - performance.now())));
    }
  }

  async answer(answer, at = this.at, until = at) {
    if (this.busy || at === null || !this.state.question) return;
    this.busy = true;
    this.turn = null;
    try { await this.send("answer", { at, until, answer }); } finally { this.busy = false; }
  }
}
