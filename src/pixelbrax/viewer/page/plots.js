// Plots of the last steps, which grow from the left until they are full.

const STEPS = 1000; // that are shown
const PADDING = { left: 46, right: 8, top: 8, bottom: 18 };

export class History {
  constructor() {
    this.clear();
  }

  clear() {
    this.samples = [];
    this.total = 0;
  }

  add({ reward, value, action, begins }) {
    for (let i = 0; i < reward.length; i++) {
      this.samples.push({ reward: reward[i], value: value[i], action: action[i], begins: begins[i] });
    }
    this.total += reward.length;
    if (this.samples.length > STEPS) this.samples.splice(0, this.samples.length - STEPS);
  }

  get last() {
    return this.samples.at(-1);
  }
}

// A canvas in device pixels whose unit is a CSS pixel, cleared.
function prepared(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  context.lineJoin = "round";
  return { context, width, height };
}

function colors() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

function span(history) {
  return Math.max(100, Math.min(STEPS, 100 * Math.ceil(history.samples.length / 100)));
}

function axes(context, width, height, history, color) {
  const first = history.total - history.samples.length;
  context.fillStyle = color("muted");
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.fillText(String(first), PADDING.left, height - 5);
  context.textAlign = "right";
  context.fillText(`${first + span(history)} steps`, width - PADDING.right, height - 5);
}

function niceTicks(low, high) {
  const raw = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= raw);
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) ticks.push(k * step);
  return { ticks, digits: Math.max(0, -Math.floor(Math.log10(step))) };
}

export function plotLine(canvas, history, key, colorName, absent) {
  const { context, width, height } = prepared(canvas);
  const color = colors();
  const values = history.samples.map((sample) => sample[key]);
  const known = values.filter((value) => value !== null);
  if (!known.length) {
    context.fillStyle = color("muted");
    context.textAlign = "center";
    context.fillText(absent, width / 2, height / 2);
    return;
  }
  let low = Math.min(...known);
  let high = Math.max(...known);
  if (high - low < 1e-6) [low, high] = [low - 0.5, high + 0.5];
  const margin = 0.06 * (high - low);
  [low, high] = [low - margin, high + margin];
  const inner = { width: width - PADDING.left - PADDING.right, height: height - PADDING.top - PADDING.bottom };
  const x = (i) => PADDING.left + ((i + 0.5) / span(history)) * inner.width;
  const y = (value) => PADDING.top + ((high - value) / (high - low)) * inner.height;

  const { ticks, digits } = niceTicks(low, high);
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const tick of ticks) {
    context.strokeStyle = color("line");
    context.beginPath();
    context.moveTo(PADDING.left, y(tick));
    context.lineTo(width - PADDING.right, y(tick));
    context.stroke();
    context.fillStyle = color("muted");
    context.fillText(tick.toFixed(digits), PADDING.left - 6, y(tick));
  }
  axes(context, width, height, history, color);

  context.strokeStyle = color(colorName);
  context.lineWidth = 1.5;
  context.beginPath();
  let apart = true;
  history.samples.forEach((sample, i) => {
    if (sample[key] === null) return (apart = true);
    context[apart || sample.begins ? "moveTo" : "lineTo"](x(i), y(sample[key]));
    apart = false;
  });
  context.stroke();
}

// A row for each actuator; colors from -1 over 0 to 1.
export function plotActions(canvas, history, names) {
  const { context, width, height } = prepared(canvas);
  const color = colors();
  const inner = { width: width - PADDING.left - PADDING.right, height: height - PADDING.top - PADDING.bottom };
  const row = inner.height / names.length;
  const column = inner.width / span(history);
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = color("muted");
  const every = Math.ceil(13 / row);
  names.forEach((name, i) => {
    if (i % every === 0) context.fillText(shortened(name), PADDING.left - 6, PADDING.top + (i + 0.5) * row);
  });
  context.fillStyle = color("middle");
  context.fillRect(PADDING.left, PADDING.top, inner.width, inner.height);
  for (const [sign, name] of [[1, "high"], [-1, "low"]]) {
    context.fillStyle = color(name);
    history.samples.forEach((sample, i) => {
      sample.action.forEach((value, k) => {
        if (sign * value <= 0) return;
        context.globalAlpha = Math.min(1, Math.abs(value));
        const left = PADDING.left + i * column;
        context.fillRect(left, PADDING.top + k * row, Math.max(column, 0.6), row - (row > 6 ? 1 : 0));
      });
    });
  }
  context.globalAlpha = 1;
  axes(context, width, height, history, color);
}

function shortened(name) {
  const text = name.replace(/^action /, "");
  return text.length > 7 ? `${text.slice(0, 6)}…` : text;
}
