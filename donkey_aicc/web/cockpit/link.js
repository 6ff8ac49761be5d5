// The web socket: opens, shows the token, comes back by itself, hands on what arrives.

const TOKEN = "aicc-token";

// A link with #token=... is stored for this browser and taken out of the address bar, where others could read it.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    store(given);
    history.replaceState(null, "", location.pathname);
  }
  try { return given || localStorage.getItem(TOKEN) || ""; } catch { return given || ""; }
}

export function store(token) {
  try { localStorage.setItem(TOKEN, token); } catch { /* a browser without storage: this page only */ }
}

export class Link {
  // on: { tick(moment, jpeg), said(object), state(text, open) }
  constructor(on) {
    this.on = on;
    this.token = takeToken();
    this.wait_s = 0.5;
    this.open();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = (this.socket = new WebSocket(`${scheme}://${location.host}/aicc/socket`));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.on.state("connected", true);
      if (this.token) this.send({ token: this.token });
      this.onready?.();
    };
    socket.onmessage = ({ data }) => {
      this.wait_s = 0.5;
      if (typeof data === "string") return this.on.said(JSON.parse(data));
      const length = new DataView(data).getUint32(0);
      const moment = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
      this.on.tick(moment, data.byteLength > 4 + length ? new Uint8Array(data, 4 + length) : null);
    };
    socket.onclose = ({ code, reason }) => {
      this.on.state(reason ? `closed: ${reason}` : "not connected", false);
      if (code === 1008 && this.needs) return; // asks for the token; there is no use in trying without
      setTimeout(() => this.open(), 1000 * this.wait_s);
      this.wait_s = Math.min(2 * this.wait_s, 5);
    };
  }

  use(token) {
    this.token = token;
    if (this.socket.readyState === WebSocket.OPEN) this.send({ token });
    else this.open();
  }

  send(message) {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }
}
