// Archives as the catalog packs them (src/encoding/tar.cc).

import { type Bytes, encode, joined } from "../worker/bytes.ts";

export function entry(name: string, content: Bytes, type = "0", size = content.length): Bytes {
  const header = new Uint8Array(512);
  header.set(encode(name).subarray(0, 100));
  header.set(encode(size.toString(8).padStart(11, "0")), 124);
  header.set(encode(type), 156);
  return joined([header, content, new Uint8Array((512 - (content.length % 512)) % 512)]);
}

export const END = new Uint8Array(1024);

export const tarOf = (files: Readonly<Record<string, string>>): Bytes =>
  joined([...Object.entries(files).map(([name, text]) => entry(name, encode(text))), END]);

export async function gzip(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer());
}

export const filesOf = (files: Readonly<Record<string, string>>): Map<string, Bytes> =>
  new Map(Object.entries(files).map(([path, text]) => [path, encode(text)]));
