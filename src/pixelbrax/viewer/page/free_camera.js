// The pointer, the wheel and the arrow keys on the free camera's picture.

const PIXELS_A_NOTCH = 100;
const KEY_STEP = 0.04; // of the picture's height

// Calls move({type, ...}) with messages that add up all motion since the last one was answered.
export function moveCamera(canvas, move) {
  const pointers = new Map();
  const motion = { orbit: [0, 0], pan: [0, 0], notches: 0 };
  let busy = false;

  async function flush() {
    if (busy) return;
    busy = true;
    try {
      for (const message of waiting(motion)) await move(message);
    } finally {
      busy = false;
    }
    if (waiting(motion, false).length) requestAnimationFrame(flush);
  }

  function drag(how, right, down) {
    const height = canvas.getBoundingClientRect().height;
    motion[how][0] += right / height;
    motion[how][1] += down / height;
    requestAnimationFrame(flush);
  }

  function zoom(notches) {
    motion.notches += notches;
    requestAnimationFrame(flush);
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const [right, down] = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (pointers.size === 1) {
      drag(event.shiftKey || event.buttons & 6 ? "pan" : "orbit", right, down);
    } else {
      const other = [...pointers.values()].find((each) => each.pointerId !== event.pointerId);
      const apart = (each) => Math.hypot(each.clientX - other.clientX, each.clientY - other.clientY);
      zoom(Math.log(Math.max(apart(before), 1) / Math.max(apart(event), 1)) / Math.log(1.1));
      drag("pan", right / 2, down / 2);
    }
    pointers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, (event) => pointers.delete(event.pointerId));
  }
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const pixels = event.deltaY * [1, 16, 400][event.deltaMode];
      zoom(Math.max(-3, Math.min(3, pixels / PIXELS_A_NOTCH)));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const height = canvas.getBoundingClientRect().height;
    if (arrows[event.key]) {
      const [right, down] = arrows[event.key];
      drag(event.shiftKey ? "pan" : "orbit", KEY_STEP * height * right, KEY_STEP * height * down);
    } else if (event.key === "+" || event.key === "=") zoom(-1);
    else if (event.key === "-") zoom(1);
    else return;
    event.preventDefault();
  });
}

// Messages for the motion so far, which then begins anew.
function waiting(motion, take = true) {
  const messages = [];
  for (const how of ["orbit", "pan"]) {
    const [right, down] = motion[how];
    if (right || down) messages.push({ type: "drag", how, right: bounded(right, 10), down: bounded(down, 10) });
    if (take) motion[how] = [0, 0];
  }
  if (motion.notches) messages.push({ type: "zoom", notches: bounded(motion.notches, 50) });
  if (take) motion.notches = 0;
  return messages;
}

function bounded(value, most) {
  return Math.max(-most, Math.min(most, value));
}
