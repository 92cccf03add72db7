// The pickers: what they list, what they show, and what they ask for.

const $ = (id) => document.getElementById(id);
const SUITES = { creatures: "Creatures", dmc: "DeepMind Control Suite" };

export class Settings {
  constructor(catalog, send) {
    this.catalog = catalog;
    this.send = send;
    this.environment = null;
    fillGrouped($("task"), catalog.tasks, "Brax");
    fillGrouped($("distractors"), catalog.distractors, "", "none");
    const choose = (name, value) => send({ type: "choose", [name]: value });
    $("task").addEventListener("change", (e) => choose("task", e.target.value));
    $("engine").addEventListener("change", (e) => choose("engine", e.target.value));
    $("camera").addEventListener("change", (e) => choose("camera", e.target.value));
    $("resolution").addEventListener("change", (e) => choose("resolution", Number(e.target.value)));
    $("grayscale").addEventListener("change", (e) => choose("grayscale", e.target.checked));
    $("distractors").addEventListener("change", (e) => choose("distractors", e.target.value ? e.target.value.split(" + ") : []));
    $("strength").addEventListener("input", (e) => {
      $("strength-now").textContent = Number(e.target.value).toFixed(2);
      send({ type: "strength", factor: Number(e.target.value) });
    });
  }

  // Shows the environment as it is.
  show(environment) {
    this.environment = environment;
    const { task, engine, distractors, camera, cameras, resolution, grayscale } = environment;
    const known = this.catalog.tasks.find(({ name }) => name === task);
    $("task").value = task;
    $("task-name").textContent = task;
    document.title = `${task} – PixelBrax`;
    $("task-note").textContent = known ? known.description : "";
    fill($("engine"), known ? known.engines : [engine], engine);
    fill($("camera"), ["", ...new Set(camera ? [...cameras, camera] : cameras)], camera, (name) => name || "the task's own");
    const sizes = [...new Set([...this.catalog.resolutions, resolution])].sort((a, b) => a - b);
    fill($("resolution"), sizes, resolution, (side) => `${side} × ${side}`);
    $("grayscale").checked = grayscale;
    const chosen = distractors.join(" + ");
    if (![...$("distractors").options].some(({ value }) => value === chosen)) {
      $("distractors").append(new Option(chosen, chosen));
    }
    $("distractors").value = chosen;
    const preset = this.catalog.distractors.find(({ name }) => name === chosen);
    $("distractors-note").textContent = preset ? preset.description : "";
    $("strength").disabled = !chosen;
    $("agent-note").textContent = `${resolution} × ${resolution}, ${grayscale ? "gray" : "color"}`;
  }

  // After a choice that could not be built.
  reset() {
    if (this.environment) this.show(this.environment);
  }
}

export class Actions {
  // Where actions come from, with a slider for each actuator that also shows what others do.
  constructor(catalog, send) {
    this.send = send;
    this.held = 0; // until when the sliders are the user's, and do not follow what is simulated
    radios($("sources"), "source", catalog.sources, (source) => send({ type: "act", source }));
  }

  build({ actions, policy, misfit }) {
    const rows = actions.map((name) => {
      const input = Object.assign(document.createElement("input"), { type: "range", min: -1, max: 1, step: 0.01, value: 0 });
      const output = document.createElement("output");
      const label = document.createElement("label");
      label.className = "slide";
      const text = document.createElement("span");
      text.textContent = name;
      label.title = name;
      label.append(text, input, output);
      input.addEventListener("input", () => this.#moved());
      return { label, input, output };
    });
    this.rows = rows;
    $("sliders").replaceChildren(...rows.map(({ label }) => label));
    $("sources").querySelector('[value="policy"]').disabled = !policy;
    const reason = misfit ? `The run's policy does not fit: ${misfit}.` : "For a policy, start with --run RUN.";
    $("source-note").textContent = policy ? `The policy is that of ${policy}.` : reason;
  }

  show(source, action) {
    check($("sources"), source);
    for (const { label } of this.rows) label.classList.toggle("idle", source !== "sliders");
    if (performance.now() < this.held || !action) return;
    this.rows.forEach(({ input, output }, i) => {
      input.value = action[i];
      output.textContent = action[i]?.toFixed(2) ?? "–"; // null: not finite
    });
  }

  #moved() {
    this.held = performance.now() + 1000;
    for (const { input, output } of this.rows) output.textContent = Number(input.value).toFixed(2);
    this.send({ type: "act", source: "sliders", action: this.rows.map(({ input }) => Number(input.value)) });
  }
}

export function radios(parent, name, values, chosen) {
  for (const value of values) {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name, value });
    input.addEventListener("change", () => chosen(value));
    label.append(input, value);
    parent.append(label);
  }
}

export function check(parent, value) {
  for (const input of parent.querySelectorAll("input")) input.checked = input.value === value;
}

function fill(select, values, chosen, text = String) {
  select.replaceChildren(...values.map((value) => new Option(text(value), value)));
  select.value = chosen;
}

function fillGrouped(select, entries, other, none) {
  if (none) select.append(new Option(none, ""));
  const groups = new Map();
  for (const { name, description } of entries) {
    const [suite] = name.includes("/") ? name.split("/") : [other];
    if (!groups.has(suite)) groups.set(suite, Object.assign(document.createElement("optgroup"), { label: SUITES[suite] ?? suite }));
    const option = new Option(name, name);
    option.title = description;
    groups.get(suite).append(option);
  }
  const first = groups.get(other);
  if (first) select.append(first);
  for (const group of groups.values()) if (group !== first) select.append(group);
}
