// The experiment in the address: `#toml=` and the text, compressed, in letters that need no escape. `&run=2` is a run of a
// sweep.

const through = async (bytes, stream) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

export async function written(toml, point) {
  const packed = await through(new TextEncoder().encode(toml), new CompressionStream("deflate-raw"));
  const letters = btoa(String.fromCharCode(...packed))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
  return `#toml=${letters}${point ? `&run=${point}` : ""}`;
}

// The experiment of an address; null where it has none. A damaged one is an error.
export async function read(hash) {
  const parts = new URLSearchParams(hash.slice(1));
  if (!parts.has("toml")) return null;
  const letters = parts.get("toml").replaceAll("-", "+").replaceAll("_", "/");
  const packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const bytes = await through(packed, new DecompressionStream("deflate-raw"));
  const point = Number(parts.get("run") ?? 0);
  return {
    toml: new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    point: Number.isInteger(point) ? Math.max(0, point) : 0,
  };
}
