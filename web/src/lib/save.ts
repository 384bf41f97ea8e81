// Files to the person's disk, and text to the clipboard.

const kMediaTypes: Record<string, string> = {
  yaml: 'application/yaml',
  html: 'text/html',
  md: 'text/markdown',
  csv: 'text/csv',
  json: 'application/json',
  txt: 'text/plain',
  svg: 'image/svg+xml',
};

export function save_file(name: string, content: string | Blob) {
  const type = kMediaTypes[name.split('.').at(-1)!] ?? 'application/octet-stream';
  const blob = typeof content === 'string' ? new Blob([content], { type }) : content;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The clipboard may be closed to a page; an invisible field and the old command still work then.
export async function copy_text(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}
