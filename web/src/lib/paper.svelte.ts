// Printing. What is drawn to a measured width, or on a canvas with the colours in it, must be drawn
// anew for the sheet: observers of size do not run for paper, and paper is light.
import { flushSync } from 'svelte';
import { theme } from './theme.svelte';

const kWidth = 640; // pixels of a drawing across an upright A4 or Letter sheet, inside its card
const kDots = 3; // of a canvas, a pixel and direction: about 300 dots an inch

class Paper {
  printing = $state(false);

  start() {
    const media = window.matchMedia('print');
    media.addEventListener('change', () => this.put(media.matches));
    window.addEventListener('beforeprint', () => this.put(true));
    window.addEventListener('afterprint', () => this.put(false));
  }

  // How wide to draw what has this width on the screen.
  width(measured: number): number {
    return this.printing ? kWidth : measured;
  }

  // How many dots of a canvas make a pixel of the page.
  get dots(): number {
    return this.printing ? kDots : window.devicePixelRatio || 1;
  }

  // The sheet is taken as soon as this returns, so that everything is drawn before.
  private put(printing: boolean) {
    theme.onPaper(printing);
    flushSync(() => (this.printing = printing));
  }
}

export const paper = new Paper();
