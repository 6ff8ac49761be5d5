// Sound and vibration while there is danger. Browsers allow neither before somebody has touched the page.

const KEY = "aicc-sound", AGAIN_MS = 3000;

export class Siren {
  constructor(button) {
    this.button = button;
    this.muted = read() === "off";
    this.context = null;
    this.last = -AGAIN_MS;
    for (const name of ["pointerdown", "keydown"]) addEventListener(name, (event) => this.unlock(event), { once: true, capture: true });
    button.addEventListener("click", () => (this.first ? (this.first = false) : this.mute(!this.muted)));
    this.label();
  }

  unlock(event) {
    if (this.touched) return;
    try { this.context = new AudioContext(); } catch { /* a browser without sound still vibrates */ }
    this.touched = true;
    this.first = this.button.contains(event.target) && !this.muted; // the button's first click only unlocks
    this.label();
  }

  mute(on) {
    this.muted = on;
    try { localStorage.setItem(KEY, on ? "off" : "on"); } catch { /* this page only */ }
    this.label();
    if (!on) this.ring();
  }

  label() {
    this.button.textContent = this.muted ? "Sound off" : this.touched ? "Sound on" : "Sound: tap";
    this.button.setAttribute("aria-pressed", String(!this.muted));
  }

  // Call it with every message; danger: whether there is any now.
  hear(danger) {
    if (!danger) this.last = -AGAIN_MS;
    else if (performance.now() - this.last >= AGAIN_MS) this.ring();
  }

  ring() {
    if (this.muted || !this.touched) return;
    this.last = performance.now();
    navigator.vibrate?.([250, 100, 250]);
    if (!this.context) return;
    for (const [at, hertz] of [[0, 880], [0.22, 660]]) {
      const tone = new OscillatorNode(this.context, { type: "square", frequency: hertz }), gain = new GainNode(this.context, { gain: 0.15 });
      tone.connect(gain).connect(this.context.destination);
      tone.start(this.context.currentTime + at);
      tone.stop(this.context.currentTime + at + 0.18);
    }
  }
}

function read() {
  try { return localStorage.getItem(KEY); } catch { return null; }
}
