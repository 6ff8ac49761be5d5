// The buttons: what they send, and what they show of the car's state.

const $ = (id) => document.getElementById(id);

export class Pad {
  constructor(link) {
    this.link = link;
    this.holding = null;
    for (const button of document.querySelectorAll("[data-mode]")) this.onclick(button, () => ({ do: "mode", mode: button.dataset.mode }));
    this.onclick($("record"), () => ({ do: "record", on: $("record").getAttribute("aria-pressed") !== "true" }));
    this.onclick($("arm"), () => ({ do: "arm" }));
    this.onclick($("start"), () => ({ do: "inject", protocol: $("protocol").value, severity: Number($("severity").value) }));
    this.onclick($("false-alarm"), () => ({ do: "false_alarm" }));
    this.onclick($("lap-was-normal"), () => ({ do: "lap_was_normal" }));
    this.onclick($("confirm"), () => (this.waiting ? { do: "governor", mode: "advise" } : { do: "confirm" }));
    this.onclick($("stop"), () => ({ do: "stop" }));
    $("governor").addEventListener("change", () => this.ask({ do: "governor", mode: $("governor").value }));
    $("halt").addEventListener("click", () => this.halt());
    this.holdButton($("mark"));
    addEventListener("keydown", (event) => this.key(event), { capture: true });
  }

  onclick(button, message) {
    button.addEventListener("click", () => this.ask(message()));
  }

  ask(message) {
    if (!this.link.send(message)) this.say("not connected: nothing was sent", false);
  }

  halt() {
    this.ask({ do: "halt" });
  }

  // In a line of its own beside the red button: seen wherever one has scrolled to, and it covers nothing; gone after a while.
  say(text, good = true) {
    $("reply").textContent = text;
    $("reply").classList.toggle("no", !good);
    clearTimeout(this.saying);
    this.saying = setTimeout(() => { $("reply").textContent = ""; }, good ? 3000 : 8000);
  }

  // Space and Escape stop the car wherever the focus is, except while typing; Enter presses the button in focus.
  key(event) {
    if (event.target.matches?.("input[type=text]") || document.querySelector("dialog[open]")) return;
    if (event.code !== "Space" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.repeat) this.halt();
  }

  holdButton(button) {
    const begin = (event) => {
      event.preventDefault();
      if (this.holding || $("pad").disabled) return;
      const beat = () => this.ask({ do: "mark", held: true });
      beat();
      this.holding = setInterval(beat, 300);
      button.classList.add("held");
      button.setAttribute("aria-pressed", "true");
    };
    const end = () => {
      if (!this.holding) return;
      clearInterval(this.holding);
      this.holding = null;
      this.ask({ do: "mark", held: false });
      button.classList.remove("held");
      button.setAttribute("aria-pressed", "false");
    };
    button.addEventListener("pointerdown", begin);
    for (const name of ["pointerup", "pointercancel", "pointerleave", "blur"]) button.addEventListener(name, end);
    button.addEventListener("keydown", (event) => event.key === "Enter" && !event.repeat && begin(event));
    button.addEventListener("keyup", (event) => event.key === "Enter" && end());
    button.addEventListener("contextmenu", (event) => event.preventDefault());
    addEventListener("visibilitychange", end);
  }

  describe(about) {
    const has = (name) => about.actions.includes(name);
    fill($("protocol"), about.protocols);
    fill($("severity"), about.severities, about.severity, (value) => `${value} of ${about.severities.at(-1)}`);
    fill($("governor"), about.governor_modes);
    $("faults").hidden = !has("inject");
    $("fault-note").hidden = has("inject");
    $("halt").hidden = !has("halt");
    $("arm").hidden = about.arm_s === null;
    $("false-alarm").hidden = $("lap-was-normal").hidden = !has("false_alarm");
    $("governor-row").hidden = !has("governor");
    this.may_confirm = has("confirm");
    this.arm_s = about.arm_s;
  }

  allow(may) {
    $("pad").disabled = $("faults").disabled = $("confirm").disabled = !may;
    $("token-form").hidden = may;
  }

  show(moment) {
    for (const button of document.querySelectorAll("[data-mode]")) press(button, button.dataset.mode === moment.mode);
    press($("record"), moment.recording === true);
    const injection = moment.injection;
    if (injection && this.arm_s !== null) {
      press($("arm"), injection.armed);
      put($("arm"), injection.armed ? `Armed ${Math.ceil(injection.left_s ?? 0)} s` : "Arm");
    }
    this.waiting = moment.action === "waiting";
    $("confirm").hidden = !this.may_confirm || !(this.waiting || moment.action === "stopped"); // only a held car waits for somebody
    put($("confirm"), this.waiting ? "I know: advise for this drive" : "Let it go on");
    if (moment.governor_mode && document.activeElement !== $("governor")) $("governor").value = moment.governor_mode;
  }
}

function press(button, on) {
  if (button.getAttribute("aria-pressed") !== String(on)) button.setAttribute("aria-pressed", on);
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function fill(select, values, chosen = null, words = (value) => value.replaceAll("_", " ")) {
  select.replaceChildren(...values.map((value) => new Option(words(value), value, false, value === chosen)));
}
