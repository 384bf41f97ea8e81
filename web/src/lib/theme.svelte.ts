// Light or dark: follows the system until the person chooses; the choice is kept. Paper is light.

type Choice = 'system' | 'light' | 'dark';
const kKey = 'orrery.theme';

class Theme {
  choice = $state<Choice>('system');
  private systemDark = $state(false);
  private paper = $state(false);

  start() {
    const kept = localStorage.getItem(kKey);
    if (kept === 'light' || kept === 'dark') this.choice = kept;
    const media = window.matchMedia('(prefers-color-scheme: dark)');
    this.systemDark = media.matches;
    media.addEventListener('change', () => {
      this.systemDark = media.matches;
      this.apply();
    });
    this.apply();
  }

  get dark(): boolean {
    if (this.paper) return false;
    return this.choice === 'dark' || (this.choice === 'system' && this.systemDark);
  }

  toggle() {
    this.choice = this.dark ? 'light' : 'dark';
    localStorage.setItem(kKey, this.choice);
    this.apply();
  }

  onPaper(printing: boolean) {
    this.paper = printing;
    this.apply();
  }

  private apply() {
    document.documentElement.dataset.theme = this.dark ? 'dark' : 'light';
  }
}

export const theme = new Theme();

// Returns the value of a design token, for canvases and charts, which CSS cannot style.
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
