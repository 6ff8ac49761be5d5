// Puts the parts of the page together: one state from the command, shown everywhere.
import { themeButton } from "./look/theme.js";
import { Asking } from "./asking.js";
import { Clips } from "./clips.js";
import { Floor } from "./floor.js";
import { Line } from "./line.js";
import { Sheets } from "./sheets.js";

const $ = (id) => document.getElementById(id);
const percent = (value) => `${(100 * value).toFixed(1)} %`;
const ENOUGH = 150;
let asking, sheets, floor, line;

themeButton($("theme"));
start();

async function start() {
  const state = await request("api/state");
  if (!state) { setTimeout(start, 2000); return; }
  const clips = new Clips(state.clip);
  asking = new Asking(clips, send);
  sheets = new Sheets(clips, send, problem);
  floor = new Floor(send, problem);
  line = new Line(send, problem);
  for (const tab of document.querySelectorAll("[role=tab]")) tab.addEventListener("click", () => open(tab.dataset.tab, tab));
  show(state);
}

async function request(address, body) {
  try {
    const answer = await fetch(address, body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    problem(null);
    return found;
  } catch (error) { problem(error); return null; }
}

// name null: the body is a problem to show. Gives whether it went well.
async function send(name, body) {
  if (name === null) { problem(body); return false; }
  const state = await request(`api/${name}`, body);
  if (state) show(state);
  return Boolean(state);
}

function problem(error) {
  $("problem").hidden = !error;
  if (error) $("problem").textContent = error instanceof TypeError ? "No answer from the command: is it still running? All answers so far are kept." : error.message;
}

function open(name, chosen) {
  for (const tab of document.querySelectorAll("[role=tab]")) tab.setAttribute("aria-selected", tab === chosen);
  for (const id of ["ask", "sheets", "floor", "line"]) $(id).hidden = id !== name;
  if (name === "sheets") sheets.open();
  if (name === "floor") floor.draw();
  if (name === "line") line.draw();
}

function show(state) {
  asking.show(state);
  floor.show(state);
  line.show(state);
  const { labels, answers, frames } = state, given = answers.safe + answers.unsafe + answers.not_driving;
  [labels.safe, labels.unsafe, labels.not_driving].forEach((count, i) => { $("bar").children[i].style.width = `${(100 * count) / frames}%`; });
  const rows = {
    Answers: given < ENOUGH ? `${given} of ~${ENOUGH}` : given,
    Frames: frames, "✓ Safe": labels.safe, "✗ Unsafe": labels.unsafe, "❚❚ Not driving": labels.not_driving, "Without a label": state.unlabelled,
    "Labelled of driving": percent(state.labelled_share),
  };
  $("figures").replaceChildren(...Object.entries(rows).flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
  $("accuracy").replaceChildren(...accuracy(state.accuracy));
  $("doubts").replaceChildren(...state.doubts.map((text) => element("li", text)));
  $("out").textContent = `Every answer is kept at once. Labels: ${state.out}`;
}

function accuracy(found) {
  if (!found) return ["It says how right it is once it can label the rest."];
  const where = found.spread ? "answers spread over the drive" : "answers, more hard ones than the drive has";
  return [element("strong", `${percent(found.share)} right`), ` (${percent(found.low)} to ${percent(found.high)}), measured on ${found.answers} ${where}, in blocks of time that it had not seen.`];
}

function element(name, text) { return Object.assign(document.createElement(name), { textContent: text }); }
