// An episode in three dimensions: MuJoCo's primitives and meshes, lit as PixelBrax's renderer lights them.
"use strict";

const data = JSON.parse(document.getElementById("replay").textContent);
const element = name => document.getElementById(name);
const canvas = element("view"), gl = canvas.getContext("webgl2", { antialias: true, alpha: false });

// ---- numbers ----

function floats(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0)), view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, k) => view.getFloat32(4 * k, true));
}
const add = (a, b, s = 1) => a.map((x, k) => x + s * b[k]);
const dot = (a, b) => a.reduce((sum, x, k) => sum + x * b[k], 0);
const unit = a => { const n = Math.sqrt(dot(a, a)) || 1; return a.map(x => x / n); };
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

// Entry `time` (frames, not whole) of an array of vectors, between its neighbors.
function at(array, size, time) {
  const last = array.length / size - 1, place = Math.min(Math.max(time, 0), last);
  const k = Math.floor(place), share = place - k, next = Math.min(k + 1, last);
  return Array.from({ length: size }, (_, c) => (1 - share) * array[size * k + c] + share * array[size * next + c]);
}
function rotation([w, x, y, z]) { // columns, for WebGL
  const n = 2 / (w * w + x * x + y * y + z * z);
  return [1 - n * (y * y + z * z), n * (x * y + w * z), n * (x * z - w * y),
    n * (x * y - w * z), 1 - n * (x * x + z * z), n * (y * z + w * x),
    n * (x * z + w * y), n * (y * z - w * x), 1 - n * (x * x + y * y)];
}

// ---- shapes: triangles as corner and normal, six numbers each ----

const AROUND = 48, ALONG = 24; // sides of a circle, and of half a circle

// A surface of revolution about z from its profile [radius, height, normal's radius, normal's height].
function revolved(profile) {
  const out = [], point = ([r, z, nr, nz], angle) => {
    const c = Math.cos(angle), s = Math.sin(angle);
    return [r * c, r * s, z, nr * c, nr * s, nz];
  };
  for (let k = 0; k + 1 < profile.length; k++) {
    for (let j = 0; j < AROUND; j++) {
      const [a, b] = [2 * Math.PI * j / AROUND, 2 * Math.PI * (j + 1) / AROUND];
      const corners = [point(profile[k], a), point(profile[k], b), point(profile[k + 1], a), point(profile[k + 1], b)];
      for (const corner of [0, 1, 2, 1, 3, 2]) out.push(...corners[corner]);
    }
  }
  return out;
}
function ball(radius, stretch) { // a sphere, cut at its middle and pulled apart by `stretch` to each side
  const profile = [];
  for (let k = 0; k <= ALONG; k++) {
    const angle = Math.PI * k / ALONG - Math.PI / 2, c = Math.cos(angle), s = Math.sin(angle);
    if (2 * k === ALONG && stretch) profile.push([radius * c, -stretch, c, s]);
    profile.push([radius * c, radius * s + (2 * k < ALONG ? -stretch : stretch), c, s]);
  }
  return revolved(profile);
}
function box([x, y, z]) {
  const out = [], half = [x, y, z];
  for (let axis = 0; axis < 3; axis++) {
    for (const side of [-1, 1]) {
      const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
      for (const [a, other] of [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]) {
        const b = side * other; // counterclockwise from outside
        const corner = [0, 0, 0, 0, 0, 0];
        corner[axis] = side * half[axis]; corner[u] = a * half[u]; corner[v] = b * half[v]; corner[3 + axis] = side;
        out.push(...corner);
      }
    }
  }
  return out;
}
function scaled(triangles, size) { // a unit sphere as an ellipsoid; normals by the inverse scale
  for (let k = 0; k < triangles.length; k += 6) {
    const normal = unit([0, 1, 2].map(c => triangles[k + 3 + c] / size[c]));
    for (let c = 0; c < 3; c++) { triangles[k + c] *= size[c]; triangles[k + 3 + c] = normal[c]; }
  }
  return triangles;
}
// An infinite plane is a disc around the camera's foot, of rings that widen: triangles much larger than what is near
// the camera would be drawn centimeters beside their place.
const RINGS = 16, FAR = 2 ** RINGS / 16; // meters
const isInfinite = geom => geom.kind === "plane" && !(geom.size[0] && geom.size[1]);
const SHAPES = {
  plane: geom => {
    if (isInfinite(geom)) return revolved([...Array(RINGS + 1).keys(), Infinity].map(k => [FAR / 2 ** k, 0, 0, 1]));
    const square = [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]];
    return square.flatMap(([u, v]) => [u * geom.size[0], v * geom.size[1], 0, 0, 0, 1]);
  },
  sphere: ({ size }) => ball(size[0], 0),
  capsule: ({ size }) => ball(size[0], size[1]),
  ellipsoid: ({ size }) => scaled(ball(1, 0), size),
  cylinder: ({ size: [r, h] }) =>
    revolved([[0, -h, 0, -1], [r, -h, 0, -1], [r, -h, 1, 0], [r, h, 1, 0], [r, h, 0, 1], [0, h, 0, 1]]),
  box: ({ size }) => box(size),
  mesh: geom => {
    const corners = floats(geom.corners), normals = floats(geom.normals), out = [];
    for (let k = 0; k < corners.length; k += 3) out.push(...corners.slice(k, k + 3), ...normals.slice(k, k + 3));
    return out;
  },
};

// ---- the program ----

const LIGHTS = data.lights.length;
const SKY = `vec3 sky_color(vec3 ray) { // MuJoCo's builtin gradient: a sigmoid of the elevation
  float elevation = 0.63662 * asin(clamp(ray.z, -1.0, 1.0));
  return mix(sky[0], sky[1], 0.5 + 0.5 * elevation / sqrt(0.5 + 0.5 * elevation * elevation));
}`;
const VERTEX = `#version 300 es
layout(location = 0) in vec3 corner; layout(location = 1) in vec3 normal;
uniform mat4 projection; uniform mat3 turn; uniform vec3 place; uniform vec2 start;
out vec3 world; out vec3 facing; out vec2 flat_point;
void main() {
  world = turn * corner + place; facing = turn * normal; flat_point = corner.xy + start;
  gl_Position = projection * vec4(world, 1.0);
}`;
// Terms as in MuJoCo: light times color plus highlights, clipped, times the texture. No gamma correction.
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 world; in vec3 facing; in vec2 flat_point;
uniform vec2 extent; // half sides of a plane that is infinite along the other axis, and 0 along that
uniform vec3 eye, ahead, rgb, ambient, checker_rgb[2], haze_rgb, sky[2];
uniform vec4 material; // emission, specular, shininess, alpha
uniform vec4 checker; // scale, offset
uniform vec2 haze; // its width and distance
uniform bool is_checker, is_hazy;
uniform vec3 head_diffuse, head_specular;
${LIGHTS ? `uniform vec3 light_pos[${LIGHTS}], light_dir[${LIGHTS}], light_ambient[${LIGHTS}], light_diffuse[${LIGHTS}];
uniform vec3 light_specular[${LIGHTS}], light_attenuation[${LIGHTS}], light_kind[${LIGHTS}];` : ""}
out vec4 color;
${SKY}
float wave(float x) { return -abs(x - floor(x) - 0.5); }
vec3 lit(vec3 n, vec3 to_eye, vec3 to_light, vec3 diffuse, vec3 specular) {
  float cosine = dot(n, to_light);
  vec3 half_way = to_light + to_eye;
  float gloss = cosine > 0.0 ? pow(max(dot(n, normalize(half_way)), 1e-4), 128.0 * material.z) : 0.0;
  return rgb * diffuse * max(cosine, 0.0) + material.y * gloss * specular;
}
void main() {
  vec3 to_eye = normalize(eye - world), n = normalize(facing);
  if (dot(n, to_eye) < 0.0) n = -n;
  vec3 sum = rgb * (material.x + ambient) + lit(n, to_eye, -ahead, head_diffuse, head_specular);
  ${LIGHTS ? `for (int k = 0; k < ${LIGHTS}; k++) {
    vec3 toward = light_pos[k] - world;
    float far = length(toward), strength = 1.0;
    vec3 to_light = -light_dir[k];
    if (light_kind[k].x > 0.5) {
      to_light = toward / max(far, 1e-9);
      strength = 1.0 / dot(light_attenuation[k], vec3(1.0, far, far * far));
      float cosine = dot(-to_light, light_dir[k]);
      if (light_kind[k].x > 1.5) strength *= cosine < light_kind[k].y ? 0.0 : pow(max(cosine, 1e-4), light_kind[k].z);
    }
    sum += rgb * strength * light_ambient[k]
      + lit(n, to_eye, to_light, strength * light_diffuse[k], strength * light_specular[k]);
  }` : ""}
  sum = clamp(sum, 0.0, 1.0);
  vec2 cell = flat_point * checker.xy * vec2(1.0, -1.0) + checker.zw, width = max(fwidth(cell), 1e-6);
  if (is_checker) {
    float covered = (wave(cell.x + 0.5 * width.x) - wave(cell.x - 0.5 * width.x))
      * (wave(cell.y + 0.5 * width.y) - wave(cell.y - 0.5 * width.y)) / (width.x * width.y);
    sum *= mix(checker_rgb[0], checker_rgb[1], 0.5 - 0.5 * covered);
  }
  if (is_hazy) {
    float height = eye.z - world.z, slope = height / max(length(world.xy - eye.xy), 1e-9);
    float place = slope / (height / haze.y + haze.x * slope), end = 1.0 / (1.0 + haze.x); // a cone around the eye
    float share = place > end ? (1.0 - place) / (1.0 - end) : place / end;
    if (height > 0.0) sum = mix(place < end ? sky_color(-to_eye) : sum, haze_rgb, clamp(share, 0.0, 1.0));
  }
  if (any(greaterThan(abs(flat_point) * sign(extent), extent))) discard; // last: derivatives need all pixels
  color = vec4(sum, material.w);
}`;
const SKY_VERTEX = `#version 300 es
layout(location = 0) in vec3 corner; uniform mat3 turn; uniform vec2 slope; out vec3 ray;
void main() { ray = turn * vec3(corner.xy * slope, -1.0); gl_Position = vec4(corner.xy, 0.9999999, 1.0); }`;
const SKY_FRAGMENT = `#version 300 es
precision highp float; in vec3 ray; uniform vec3 sky[2]; out vec4 color;
${SKY}
void main() { color = vec4(sky_color(normalize(ray)), 1.0); }`;

function program(vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text); gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  const places = {};
  return {
    use: () => gl.useProgram(made),
    set: (name, kind, ...values) => {
      places[name] = places[name] ?? gl.getUniformLocation(made, name);
      gl["uniform" + kind](places[name], ...values);
    },
  };
}
function buffer(triangles) {
  const array = gl.createVertexArray();
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(triangles), gl.STATIC_DRAW);
  for (const k of [0, 1]) { gl.enableVertexAttribArray(k); gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 24, 12 * k); }
  return { array, count: triangles.length / 6 };
}

// ---- the camera: the task's own, turned and moved by whoever looks ----

const camera = { pos: floats(data.camera.pos), mat: floats(data.camera.mat) };
const rewards = floats(data.rewards), sums = [0];
for (const reward of rewards) sums.push(sums[sums.length - 1] + reward);
const view = { turn: 0, tilt: 0, zoom: 1 };
let frame = 0, playing = true, speed = 1, before = null, dragged = null;

function column(mat, k) { return [mat[k], mat[3 + k], mat[6 + k]]; }
function focusDistance() { // to the middle of what moves, along the line of sight
  const moving = data.geoms.filter(geom => geom.pos.length > 3), eye = at(camera.pos, 3, 0);
  const forward = column(at(camera.mat, 9, 0), 2).map(x => -x);
  const depths = moving.map(geom => dot(add(at(geom.pos, 3, 0), eye, -1), forward));
  return Math.max(depths.length ? depths.reduce((a, b) => a + b) / depths.length : 3, 0.2);
}
function eyeAt(time) {
  const base = element("follow").checked ? time : 0;
  const pos = at(camera.pos, 3, base), mat = at(camera.mat, 9, base);
  const back = unit(column(mat, 2)), focus = add(pos, back, -distance);
  if (!view.turn && !view.tilt) return { eye: add(focus, back, distance * view.zoom), back, up: unit(column(mat, 1)) };
  const heading = Math.atan2(back[1], back[0]) + view.turn;
  const height = Math.min(Math.max(Math.asin(Math.max(-1, Math.min(1, back[2]))) + view.tilt, -1.5), 1.55);
  const toward = [Math.cos(heading) * Math.cos(height), Math.sin(heading) * Math.cos(height), Math.sin(height)];
  return { eye: add(focus, toward, distance * view.zoom), back: toward, up: [0, 0, 1] };
}

// ---- drawing ----

let scene, sky, square, distance;
function prepare() {
  for (const geom of data.geoms) {
    geom.pos = floats(geom.pos); geom.quat = floats(geom.quat);
    geom.mesh = buffer(SHAPES[geom.kind](geom));
  }
  square = buffer([-1, -1, 0, 0, 0, 0, 3, -1, 0, 0, 0, 0, -1, 3, 0, 0, 0, 0]);
  distance = focusDistance();
  scene = program(VERTEX, FRAGMENT); sky = program(SKY_VERTEX, SKY_FRAGMENT);
  scene.use();
  scene.set("sky", "3fv", data.sky.flat()); scene.set("ambient", "3fv", data.ambient);
  scene.set("head_diffuse", "3fv", data.headlight.diffuse); scene.set("head_specular", "3fv", data.headlight.specular);
  for (const light of data.lights) { light.pos = floats(light.pos); light.dir = floats(light.dir); }
  for (const name of ["ambient", "diffuse", "specular", "attenuation", "kind"]) {
    if (LIGHTS) scene.set("light_" + name, "3fv", data.lights.flatMap(light => light[name]));
  }
  gl.cullFace(gl.BACK); gl.enable(gl.DEPTH_TEST); gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
}
function draw() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio); canvas.height = Math.round(canvas.clientHeight * ratio);
  gl.viewport(0, 0, canvas.width, canvas.height); gl.clear(gl.DEPTH_BUFFER_BIT);
  const { eye, back, up } = eyeAt(frame), right = unit(cross(up, back)), top = cross(back, right);
  const tangent = Math.tan(data.camera.fovy * Math.PI / 360), aspect = canvas.width / canvas.height;
  const near = 0.02 * distance * view.zoom, far = 3 * FAR;
  const [sx, sy] = [1 / (tangent * aspect), 1 / tangent], [a, b] = [-(far + near) / (far - near), -2 * far * near / (far - near)];
  const shift = [right, top, back].map(axis => -dot(axis, eye));
  const projection = [0, 1, 2].flatMap(k => [sx * right[k], sy * top[k], a * back[k], -back[k]]);
  projection.push(sx * shift[0], sy * shift[1], a * shift[2] + b, -shift[2]);
  sky.use();
  sky.set("turn", "Matrix3fv", false, [...right, ...top, ...back]); sky.set("slope", "2fv", [1 / sx, 1 / sy]);
  sky.set("sky", "3fv", data.sky.flat());
  gl.disable(gl.CULL_FACE); gl.depthMask(false); gl.bindVertexArray(square.array); gl.drawArrays(gl.TRIANGLES, 0, 3); gl.depthMask(true);
  scene.use();
  scene.set("projection", "Matrix4fv", false, projection);
  if (LIGHTS) {
    scene.set("light_pos", "3fv", data.lights.flatMap(light => at(light.pos, 3, frame)));
    scene.set("light_dir", "3fv", data.lights.flatMap(light => unit(at(light.dir, 3, frame))));
  }
  scene.set("eye", "3fv", eye); scene.set("ahead", "3fv", back.map(x => -x));
  const away = geom => { const offset = add(at(geom.pos, 3, frame), eye, -1); return dot(offset, offset); };
  const clear = data.geoms.filter(geom => geom.alpha < 1).sort((a, b) => away(a) - away(b));
  // As in MuJoCo, what is transparent is blended twice, from the nearest to the farthest and back, and hides nothing.
  for (const geom of [...data.geoms.filter(geom => geom.alpha === 1), ...clear, ...clear.toReversed()]) {
    gl.depthMask(geom.alpha === 1);
    const checker = geom.checker ?? { rgb: [[1, 1, 1], [1, 1, 1]], scale: [1, 1], offset: [0, 0] };
    const turn = rotation(at(geom.quat, 4, frame));
    let place = at(geom.pos, 3, frame), start = [0, 0];
    if (isInfinite(geom)) {
      const axes = [turn.slice(0, 3), turn.slice(3, 6)], away = add(eye, place, -1);
      start = axes.map(axis => dot(axis, away));
      place = add(add(place, axes[0], start[0]), axes[1], start[1]);
    }
    scene.set("turn", "Matrix3fv", false, turn); scene.set("place", "3fv", place); scene.set("start", "2fv", start);
    scene.set("extent", "2fv", isInfinite(geom) ? geom.size.slice(0, 2) : [0, 0]);
    scene.set("rgb", "3fv", geom.rgb);
    scene.set("material", "4f", geom.emission, geom.specular, geom.shininess, geom.alpha);
    scene.set("is_checker", "1i", geom.checker ? 1 : 0);
    scene.set("checker_rgb", "3fv", checker.rgb.flat());
    scene.set("checker", "4fv", [...checker.scale, ...checker.offset]);
    scene.set("is_hazy", "1i", geom.haze ? 1 : 0);
    if (geom.haze) { scene.set("haze", "2f", geom.haze.width, geom.haze.distance); scene.set("haze_rgb", "3fv", geom.haze.rgb); }
    gl[geom.kind === "mesh" && geom.alpha === 1 ? "disable" : "enable"](gl.CULL_FACE); // open meshes have a back
    gl.bindVertexArray(geom.mesh.array); gl.drawArrays(gl.TRIANGLES, 0, geom.mesh.count);
  }
  gl.depthMask(true);
}
function tell() {
  const k = shown(), time = Math.min((k + 1) * data.dt, data.seconds);
  element("scrub").value = k;
  element("time").textContent = `${time.toFixed(2)} of ${data.seconds.toFixed(2)} s`;
  const end = k === data.frames - 1 && data.ending ? `\n${data.ending}` : "";
  element("told").textContent = `${document.title}\nreturn so far ${sums[k + 1].toFixed(1)}${end}`;
  element("play").textContent = playing ? "Pause" : "Play";
}
function tick(now) {
  const passed = before === null ? 0 : Math.min(now - before, 100) / 1000;
  before = now;
  if (playing) {
    frame += passed * speed / data.dt;
    if (frame > data.frames - 1 + 0.7 / data.dt) frame = 0; // the end stays for a moment
  }
  draw(); tell();
  requestAnimationFrame(tick);
}

// ---- whoever looks ----

const shown = () => Math.min(Math.round(frame), data.frames - 1); // after the last frame time goes on for a moment
function seek(place) { frame = Math.min(Math.max(place, 0), data.frames - 1); playing = false; }
function listen() {
  element("scrub").max = data.frames - 1;
  element("scrub").oninput = event => seek(Number(event.target.value));
  element("play").onclick = () => { playing = !playing; };
  element("speed").onchange = event => { speed = Number(event.target.value); };
  element("reset").onclick = () => Object.assign(view, { turn: 0, tilt: 0, zoom: 1 });
  canvas.onpointerdown = event => { dragged = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); };
  canvas.onpointerup = canvas.onpointercancel = () => { dragged = null; };
  canvas.onpointermove = event => {
    if (!dragged) return;
    view.turn -= 0.008 * (event.clientX - dragged[0]); view.tilt += 0.008 * (event.clientY - dragged[1]);
    dragged = [event.clientX, event.clientY];
  };
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    view.zoom = Math.min(Math.max(view.zoom * Math.exp(0.001 * event.deltaY), 0.05), 50);
  }, { passive: false });
  document.onkeydown = event => {
    const keys = {
      " ": () => { playing = !playing; }, r: element("reset").onclick,
      ArrowLeft: () => seek(shown() - 1), ArrowRight: () => seek(shown() + 1),
    };
    if (event.target.tagName === "INPUT" || event.target.tagName === "SELECT" || !keys[event.key]) return;
    event.preventDefault(); keys[event.key]();
  };
}

if (gl) {
  prepare(); listen();
  const wanted = new URLSearchParams(location.hash.slice(1)); // such as #frame=20&turn=0.5, for a link to a view
  if (wanted.has("frame")) seek(Number(wanted.get("frame")) || 0);
  for (const name of Object.keys(view)) view[name] = Number(wanted.get(name)) || view[name];
  requestAnimationFrame(tick);
} else {
  element("told").textContent = "This page needs WebGL 2, which the browser does not offer.";
}
