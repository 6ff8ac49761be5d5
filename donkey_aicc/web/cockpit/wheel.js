// Driving from the page: a pad for finger or mouse, arrow keys, a game controller. Needs nothing of the page but the button #wheel.
// What is held is sent ten times a second; the car lets go by itself when that ends.

const SEND_MS = 100, REST = 0.08;
const KEYS = { ArrowLeft: [-1, 0], a: [-1, 0], ArrowRight: [1, 0], d: [1, 0], ArrowUp: [0, 1], w: [0, 1], ArrowDown: [0, -1], s: [0, -1] };
const PANEL = `
  <h2>You drive <button type="button" class="plain" id="wheel-close">Close</button></h2>
  <p id="wheel-mode" class="quiet"></p>
  <div id="wheel-pad" role="application" tabindex="0" aria-label="Steering pad: arrow keys or W, A, S, D drive while it is open"><i aria-hidden="true"></i></div>
  <output id="wheel-now"></output>
  <label class="small">Most throttle <input type="range" id="wheel-most" min="0.1" max="1" step="0.05" value="0.3"></label>
  <p id="wheel-controller" class="quiet"></p>`;

const clip = (value) => Math.min(1, Math.max(-1, value));
const beyondRest = (value) => (Math.abs(value) < REST ? 0 : value);

export class Wheel {
  // link: has send(message); say(text, good): where the page tells the person something
  constructor(link, say) {
    Object.assign(this, { link, say, held: new Set(), pointer: null, steering: 0, sending: null, driving: false, mode: null });
    this.button = document.getElementById("wheel");
    this.panel = Object.assign(document.createElement("section"), { id: "wheel-panel", className: "card", hidden: true, innerHTML: PANEL });
    this.panel.setAttribute("aria-label", "Drive");
    document.body.append(this.panel);
    this.part = (name) => this.panel.querySelector(`#wheel-${name}`);
    this.button.addEventListener("click", () => (this.sending ? this.close() : this.open()));
    this.part("close").addEventListener("click", () => this.close());
    const pad = this.part("pad");
    pad.addEventListener("pointerdown", (event) => { pad.setPointerCapture(event.pointerId); this.touch(event); });
    pad.addEventListener("pointermove", (event) => this.pointer && this.touch(event));
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) pad.addEventListener(name, () => { this.pointer = null; });
    addEventListener("keydown", (event) => this.key(event, true), { capture: true });
    addEventListener("keyup", (event) => this.key(event, false), { capture: true });
    addEventListener("blur", () => this.letGo());
    addEventListener("pagehide", () => this.close());
    addEventListener("visibilitychange", () => document.hidden && this.close());
  }

  describe(about) {
    this.button.hidden = !about.actions.includes("drive");
    if (this.button.hidden) this.close();
  }

  show(moment) {
    this.mode = moment.mode;
  }

  open() {
    this.panel.hidden = false;
    this.button.setAttribute("aria-pressed", "true");
    this.sending = setInterval(() => this.beat(), SEND_MS);
    this.part("pad").focus();
  }

  close() {
    if (!this.sending) return;
    clearInterval(this.sending);
    this.sending = null;
    this.letGo();
    this.stop();
    this.panel.hidden = true;
    this.button.setAttribute("aria-pressed", "false");
  }

  letGo() {
    this.held.clear();
    this.pointer = null;
  }

  touch(event) {
    event.preventDefault();
    const box = this.part("pad").getBoundingClientRect();
    this.pointer = [clip((2 * (event.clientX - box.left)) / box.width - 1), clip(1 - (2 * (event.clientY - box.top)) / box.height)];
  }

  // Space and Escape end it: they mean stop everywhere on this page.
  key(event, down) {
    if (!this.sending || event.target.matches?.("input[type=text], select")) return;
    if (down && (event.code === "Space" || event.key === "Escape")) return this.close();
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!KEYS[name] || event.ctrlKey || event.metaKey || event.altKey) return;
    if (name.startsWith("Arrow") && event.target === this.part("most")) return; // the slider's own keys
    event.preventDefault();
    if (down) this.held.add(name); else this.held.delete(name);
  }

  // [steering, throttle] of what is held, each -1..1, or null for nothing.
  wanted() {
    if (this.pointer) return this.pointer;
    if (this.held.size) {
      const sum = [0, 1].map((axis) => clip([...this.held].reduce((total, name) => total + KEYS[name][axis], 0)));
      this.steering = sum[0] === 0 ? 0 : clip(this.steering + 0.25 * sum[0]); // a key knows no half: it turns the wheel bit by bit
      return [Math.sign(this.steering) === -sum[0] ? 0 : this.steering, sum[1]];
    }
    this.steering = 0;
    return this.fromController();
  }

  // A controller in the browser's standard order: left stick steers, triggers are the pedals, the right stick is one too.
  fromController() {
    const found = [...(navigator.getGamepads?.() ?? [])].find((each) => each?.connected);
    const without = "getGamepads" in navigator ? "Game controller: press one of its buttons" : "Game controller: this browser shows it only to https pages and localhost";
    put(this.part("controller"), found ? `Game controller: ${found.id}` : without);
    if (!found) return null;
    const pedal = (number) => found.buttons[number]?.value ?? 0;
    const throttle = beyondRest(pedal(7) - pedal(6)) || -beyondRest(found.axes[3] ?? 0);
    const steering = beyondRest(found.axes[0] ?? 0);
    return steering || throttle ? [clip(steering), clip(throttle)] : null;
  }

  beat() {
    const wanted = this.wanted();
    put(this.part("mode"), this.mode === "user" ? "" : this.mode === "local_angle" ? "The pilot steers; the throttle is yours." : "The pilot drives: press You first.");
    if (wanted) this.send(wanted[0], wanted[1] * Number(this.part("most").value));
    else if (this.driving) this.stop();
  }

  stop() {
    this.send(0, 0);
    this.driving = false;
  }

  send(angle, throttle) {
    this.driving = true;
    if (!this.link.send({ do: "drive", angle: Number(angle.toFixed(3)), throttle: Number(throttle.toFixed(3)) })) this.say("not connected: the car lets go", false);
    put(this.part("now"), `steering ${angle.toFixed(2)}, throttle ${throttle.toFixed(2)}`);
    const dot = this.part("pad").firstElementChild, most = Number(this.part("most").value);
    dot.style.left = `${50 + 50 * angle}%`;
    dot.style.top = `${50 - (50 * throttle) / most}%`;
  }
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
