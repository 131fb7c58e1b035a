/* Reads an accepted package, a zip file, in the browser: results, items and, of open data, answers. */
"use strict";
const Package = (() => {
  const known = new Map();

  async function unpacked(bytes, method) {
    if (method === 0) return new Uint8Array(bytes);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /** The members of the file; it has no comment, so that its directory is named by its last 22 bytes. */
  async function opened(id) {
    const reply = await fetch(`packages/${id}.zip`);
    if (!reply.ok) throw new Error(`packages/${id}.zip: ${reply.status}`);
    const buffer = await reply.arrayBuffer();
    const view = new DataView(buffer);
    const end = buffer.byteLength - 22;
    if (end < 0 || view.getUint32(end, true) !== 0x06054b50) throw new Error(`packages/${id}.zip is no package`);
    const members = new Map();
    let at = view.getUint32(end + 16, true);
    for (let left = view.getUint16(end + 10, true); left; left -= 1) {
      const length = view.getUint16(at + 28, true);
      const name = new TextDecoder().decode(new Uint8Array(buffer, at + 46, length));
      members.set(name, [view.getUint16(at + 10, true), view.getUint32(at + 20, true), view.getUint32(at + 42, true)]);
      at += 46 + length + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    }
    return async (name) => {
      if (!members.has(name)) return null;
      const [method, size, start] = members.get(name);
      const from = start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
      return new TextDecoder().decode(await unpacked(buffer.slice(from, from + size), method));
    };
  }

  const read = (id) => {
    if (!known.has(id)) known.set(id, opened(id));
    return known.get(id);
  };

  const lines = (text) => (text ?? "").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const results = async (id) => JSON.parse(await (await read(id))("results.json"));
  const items = async (id, task) => lines(await (await read(id))("items.jsonl")).filter((row) => row.task === task);
  const answers = async (id, task) =>
    new Map(lines(await (await read(id))("answers.jsonl")).filter((row) => row.task === task).map((row) => [row.id, row.response]));

  return { results, items, answers };
})();
