// Printing. A drawing with a measured width, or on a canvas with fixed colours, is drawn again for
// the sheet, because size observers do not run when a page is printed, and paper is light.
import { flushSync } from 'svelte';
import { theme } from './theme.svelte';

const kWidth = 640; // width of a drawing in px on a portrait A4 or Letter sheet, inside its card
const kDots = 3; // canvas dots per pixel in each direction: about 300 dots per inch

class Paper {
  printing = $state(false);

  start() {
    const media = window.matchMedia('print');
    media.addEventListener('change', () => this.put(media.matches));
    window.addEventListener('beforeprint', () => this.put(true));
    window.addEventListener('afterprint', () => this.put(false));
  }

  // Returns the width to draw with: the width on the screen, or that of the sheet while printing.
  width(measured: number): number {
    return this.printing ? kWidth : measured;
  }

  // Canvas dots per pixel of the page.
  get dots(): number {
    return this.printing ? kDots : window.devicePixelRatio || 1;
  }

  // The browser takes the sheet as soon as this returns, so everything is drawn before that.
  private put(printing: boolean) {
    theme.onPaper(printing);
    flushSync(() => (this.printing = printing));
  }
}

export const paper = new Paper();
