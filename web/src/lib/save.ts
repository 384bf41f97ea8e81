// Saves files to disk and copies text to the clipboard.
import { describe, getRaw, postRaw, type GetPath, type PostPath, type Sent } from './api';

export function saveFile(name: string, content: Blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Saves the server's answer as a file. Returns the error's text, or an empty text on success.
export async function saveAnswer<P extends PostPath>(name: string, path: P, body: Sent<P>): Promise<string> {
  try {
    const response = await postRaw(path, body);
    saveFile(name, await response.blob());
    return '';
  } catch (error) {
    return describe(error);
  }
}

// The same for a GET request.
export async function saveGot(name: string, path: GetPath): Promise<string> {
  try {
    saveFile(name, await (await getRaw(path)).blob());
    return '';
  } catch (error) {
    return describe(error);
  }
}

// Copies text. If the page may not use the clipboard, it falls back to an invisible field and the
// browser's copy command.
export async function copyText(text: string): Promise<void> {
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
