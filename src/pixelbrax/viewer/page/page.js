// The page: asks for updates one after another, shows them, and says what the user wants.

import { Connection } from "./connection.js";
import { moveCamera } from "./free_camera.js";
import { History, plotActions, plotLine } from "./plots.js";
import { Actions, Settings, check, radios } from "./settings.js";

const $ = (id) => document.getElementById(id);
const NOTICE_MS = 12_000;
const FPS_MS = 1_500; // over which pictures are counted

const connection = new Connection();
const history = new History();
let facts = { paused: false, version: -1 };
let environment = null;
let settings;
let actions;
let plotsAreDue = false;
let pictureTimes = [];
let noticeTimer = 0;

async function send(message) {
  try {
    await connection.send(message);
  } catch (error) {
    tell("error", error.message);
    settings.reset();
  }
}

function tell(kind, text) {
  clearTimeout(noticeTimer);
  $("message").className = kind;
  $("message-text").textContent = text;
  $("message").hidden = false;
  if (kind !== "error") noticeTimer = setTimeout(() => ($("message").hidden = true), NOTICE_MS);
}

function draw(canvas, image) {
  if (canvas.width !== image.width || canvas.height !== image.height) {
    [canvas.width, canvas.height] = [image.width, image.height];
  }
  canvas.getContext("2d", { alpha: false }).putImageData(image, 0, 0);
}

function showImages(images) {
  for (const [name, image] of Object.entries(images)) draw($(name), image);
  const now = performance.now();
  if (images.free) pictureTimes.push(now);
  pictureTimes = pictureTimes.filter((time) => time > now - FPS_MS);
  const rate = pictureTimes.length / (FPS_MS / 1000);
  $("fps").textContent = facts.paused && rate < 1 ? "paused" : rate.toFixed(rate < 10 ? 1 : 0);
}

function showFacts(update) {
  const before = facts;
  facts = update;
  if (facts.environment) {
    environment = facts.environment;
    history.clear();
    actions.build(environment);
    settings.show(environment);
    $("message").hidden = true;
  }
  for (const { kind, text } of facts.notices) {
    tell(kind, text);
    if (kind === "error") settings.reset();
  }
  const { building } = facts;
  $("building").hidden = !building;
  if (building) $("building-text").textContent = `compiling ${building.what} … ${Math.floor(building.seconds)} s`;
  check($("views"), facts.view);
  $("pause").textContent = facts.paused ? "Resume" : "Pause";
  $("pause").setAttribute("aria-pressed", String(facts.paused));
  $("record").setAttribute("aria-pressed", String(facts.recording));
  $("record").lastChild.textContent = facts.recording ? "Stop" : "Record";
  const refused = facts.notices.some(({ kind }) => kind === "error");
  if (refused || (before.strength !== facts.strength && document.activeElement !== $("strength"))) {
    $("strength").value = facts.strength;
    $("strength-now").textContent = facts.strength.toFixed(2);
  }
  if (facts.samples) showSimulation();
}

function showSimulation() {
  const { samples, episode, steps, seconds, episode_return: total, ending, achieved, follows, seed } = facts;
  if (samples.reward.length || !history.total) {
    history.add(samples);
    duePlots();
  }
  $("episode").textContent = String(episode + 1);
  $("step").textContent = String(steps);
  $("seconds").textContent = `${seconds.toFixed(2)} s${ending ? `, ${ending}` : ""}`;
  $("return").textContent = total === null ? "–" : total.toFixed(1);
  $("achieved").textContent = achieved && !facts.paused ? `${achieved.toFixed(2)}×` : "–";
  $("follows").checked = follows;
  if (document.activeElement !== $("seed")) $("seed").value = seed;
  actions.show(facts.source, facts.source === "sliders" ? facts.sliders : history.last?.action);
}

function duePlots() {
  if (plotsAreDue) return;
  plotsAreDue = true;
  requestAnimationFrame(() => {
    plotsAreDue = false;
    if (!environment) return;
    plotLine($("reward-plot"), history, "reward", "reward", "no step yet");
    const absent = environment.has_value ? "no step yet" : "no policy with a value acts here";
    plotLine($("value-plot"), history, "value", "value", absent);
    plotActions($("action-plot"), history, environment.actions);
    const { reward, value } = history.last ?? {};
    $("reward-now").textContent = reward?.toFixed(3) ?? "";
    $("value-now").textContent = value?.toFixed(2) ?? "";
    $("action-now").textContent = `${environment.actions.length} actuator${environment.actions.length > 1 ? "s" : ""}`;
  });
}

function listen() {
  radios($("views"), "view", settings.catalog.views, (view) => send({ type: "show", view }));
  const restart = () => send({ type: "restart", seed: Number($("seed").value) });
  const record = () => send({ type: "record", recording: !facts.recording });
  const pause = () => send({ type: "pause", paused: !facts.paused });
  $("pause").addEventListener("click", pause);
  $("one-step").addEventListener("click", () => send({ type: "step" }));
  $("restart").addEventListener("click", restart);
  $("seed").addEventListener("change", restart);
  $("record").addEventListener("click", record);
  $("home").addEventListener("click", () => send({ type: "home" }));
  $("follows").addEventListener("change", (e) => send({ type: "follow", follows: e.target.checked }));
  $("speed").addEventListener("change", (e) => send({ type: "speed", factor: Number(e.target.value) }));
  $("message-close").addEventListener("click", () => ($("message").hidden = true));
  moveCamera($("free"), send);

  const keys = {
    " ": pause,
    ".": () => send({ type: "step" }),
    r: restart,
    h: () => send({ type: "home" }),
    f: () => send({ type: "follow", follows: !$("follows").checked }),
    m: record,
  };
  settings.catalog.views.forEach((view, i) => (keys[i + 1] = () => send({ type: "show", view })));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input, textarea")) return;
    if (event.key === " " && event.target.matches("button")) return;
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  // After a click, keys are the page's again.
  document.addEventListener("click", (event) => event.detail && event.target.closest("button, input[type=checkbox], input[type=radio]")?.blur());
  addEventListener("resize", duePlots);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", duePlots);
  addEventListener("pagehide", () => connection.close());
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}

function visible() {
  if (!document.hidden) return null;
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

async function run() {
  const catalog = await connection.open();
  settings = new Settings(catalog, send);
  actions = new Actions(catalog, send);
  listen();
  let next = connection.update(facts.version);
  for (;;) {
    const update = await next;
    await visible();
    next = connection.update(update.facts.version); // is on its way while this one is shown
    next.catch(() => {});
    showFacts(update.facts);
    showImages(update.images);
  }
}

run().catch((error) => {
  const reason = error instanceof TypeError ? "pixelbrax view has ended, or cannot be reached: start it again" : error.message;
  tell("error", reason);
  $("building").hidden = true;
});
