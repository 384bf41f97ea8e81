// Puts a design into an address: deflate, then base64url, after `#design=`. A browser never sends
// this part of an address, so a shared link works without storage on the server.

const kPrefix = '#design=';

async function pump(bytes: Uint8Array, through: GenericTransformStream): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(through as ReadableWritablePair);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function toFragment(text: string): Promise<string> {
  const packed = await pump(new TextEncoder().encode(text), new CompressionStream('deflate'));
  let binary = '';
  for (const byte of packed) binary += String.fromCharCode(byte);
  const base64 = btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return kPrefix + base64;
}

// Returns the design, or null if the fragment contains none or a damaged one.
export async function fromFragment(fragment: string): Promise<string | null> {
  if (!fragment.startsWith(kPrefix)) return null;
  try {
    const base64 = fragment.slice(kPrefix.length).replaceAll('-', '+').replaceAll('_', '/');
    const binary = atob(base64);
    const packed = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    return new TextDecoder().decode(await pump(packed, new DecompressionStream('deflate')));
  } catch {
    return null;
  }
}
