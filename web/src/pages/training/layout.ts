// Converts a layout of the search ("tp4 pp6 vp5 dp40 mbs1 zero1") to the syntax of the design file.
const kParts = /^(tp|pp|vp|cp|ep|dp|mbs)(\d+)$/;
const kShardings = ['none', 'zero1', 'zero2', 'zero3'];
const kRecomputes = ['selective', 'full'];

// Returns null if the file cannot express it: recompute of some layers only, zero-bubble schedules.
export function layoutValue(text: string): string | null {
  const fields: string[] = [];
  const words = text.split(' ');
  for (let i = 0; i < words.length; ++i) {
    const part = kParts.exec(words[i]);
    if (part) fields.push(`${part[1]}: ${part[2]}`);
    else if (kShardings.includes(words[i])) fields.push(`sharding: ${words[i]}`);
    else if (kRecomputes.includes(words[i]) && words[i + 1] === 'recompute') {
      fields.push(`recompute: ${words[i]}`);
      ++i;
    } else return null;
  }
  return fields.length > 0 ? `{ ${fields.join(', ')} }` : null;
}
