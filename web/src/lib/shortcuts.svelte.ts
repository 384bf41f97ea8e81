// Keyboard shortcuts: `g` and a letter opens a page, `?` lists the keys. A page adds its own keys
// while it is open.
import { kPages, router } from './router.svelte';

export interface Shortcut {
  keys: string; // as shown and matched: "ctrl+enter", "/", "g d"
  what: string;
  run: () => void;
}

const kSequenceMs = 1200; // time that `g` waits for its letter

// Returns "ctrl+enter" for an event. Shift is named for named keys only, since "?" implies it.
export function keyName(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key.toLowerCase();
  const mods = [];
  if (event.ctrlKey || event.metaKey) mods.push('ctrl');
  if (event.altKey) mods.push('alt');
  if (event.shiftKey && event.key.length > 1) mods.push('shift');
  return [...mods, key].join('+');
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.('input, textarea, select, [contenteditable="true"]');
}

class Shortcuts {
  help = $state(false);
  page = $state<Shortcut[]>([]);
  private pending = '';
  private pendingAt = 0;

  readonly global: Shortcut[] = [
    ...kPages.map((p) => ({ keys: `g ${p.key}`, what: p.label, run: () => router.go(p.id) })),
    { keys: '?', what: 'Show this list', run: () => (this.help = !this.help) },
    { keys: 'escape', what: 'Close the open dialog', run: () => (this.help = false) },
  ];

  // Adds the keys of a page; call it in the page's $effect. Returns a function that removes them.
  use(list: Shortcut[]): () => void {
    this.page = list;
    return () => (this.page = []);
  }

  handle(event: KeyboardEvent) {
    const name = keyName(event);
    const withModifier = event.ctrlKey || event.metaKey || event.altKey;
    if (isTyping(event.target) && !withModifier && name !== 'escape') return;
    const fresh = event.timeStamp - this.pendingAt < kSequenceMs;
    const sequence = this.pending && fresh ? `${this.pending} ${name}` : name;
    this.pending = name === 'g' && !withModifier ? 'g' : '';
    this.pendingAt = event.timeStamp;
    const match = [...this.page, ...this.global].find((s) => s.keys === sequence);
    if (!match) return;
    // The browser also handles Escape: it closes the open dialog.
    if (name !== 'escape') event.preventDefault();
    this.pending = '';
    match.run();
  }
}

export const shortcuts = new Shortcuts();
