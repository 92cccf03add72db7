// Requests to the server: relative addresses, which begin with the token.

const decoder = new TextDecoder();

export class Connection {
  // A session of this tab; `open` first.
  async open() {
    const opened = await this.#post("open", {});
    const { tab, catalog } = await opened.json();
    this.tab = tab;
    return catalog;
  }

  // What is new: {facts, images}, once there is something; images are {name: ImageData}.
  async update(version) {
    const response = await this.#post(`${this.tab}/update`, { version });
    return parseUpdate(await response.arrayBuffer());
  }

  async send(message) {
    await this.#post(`${this.tab}/message`, message);
  }

  // The tab is being left: requests that are awaited no longer arrive.
  close() {
    navigator.sendBeacon(`${this.tab}/close`);
  }

  async #post(path, body) {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) {
      const { error } = await response.json();
      throw new Refused(error, response.status);
    }
    return response;
  }
}

export class Refused extends Error {
  constructor(reason, status) {
    super(reason);
    this.status = status;
  }
}

// The form is documented in wire.py.
function parseUpdate(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const facts = JSON.parse(decoder.decode(new Uint8Array(buffer, 4, length)));
  const images = {};
  let at = 4 + length;
  for (const { name, height, width } of facts.images) {
    const pixels = new Uint8ClampedArray(buffer, at, 4 * height * width);
    images[name] = new ImageData(pixels, width, height);
    at += pixels.byteLength;
  }
  return { facts, images };
}
