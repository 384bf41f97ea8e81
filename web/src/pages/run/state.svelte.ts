// State that the timelines and halls of the Run page share: window, cursor, and playback.
import { showing, whole, type Window } from './view';

export const kSpeeds = [
  { label: '10 min/s', value: 600 },
  { label: '1 h/s', value: 3600 },
  { label: '6 h/s', value: 21_600 },
  { label: '1 d/s', value: 86_400 },
  { label: '7 d/s', value: 604_800 },
];

export class RunView {
  endS = $state(1);
  window = $state.raw<Window>({ fromS: 0, toS: 1 });
  cursorS = $state(0);
  playing = $state(false);
  speed = $state(kSpeeds[2].value); // simulated seconds per second
  private lastMs = 0;
  private frame = 0;

  // Shows the whole run if its length has changed; else keeps window and cursor.
  fit(endS: number) {
    if (endS === this.endS) return;
    this.endS = endS;
    this.window = whole(endS);
    this.cursorS = Math.min(this.cursorS, endS);
  }

  put(t: number) {
    this.cursorS = Math.min(this.endS, Math.max(0, t));
    this.window = showing(this.window, this.cursorS, this.endS);
  }

  play(on: boolean) {
    cancelAnimationFrame(this.frame);
    this.playing = on;
    if (!on) return;
    if (this.cursorS >= this.endS) this.put(0);
    this.lastMs = performance.now();
    this.frame = requestAnimationFrame(() => this.tick());
  }

  private tick() {
    const now = performance.now();
    this.put(this.cursorS + ((now - this.lastMs) / 1000) * this.speed);
    this.lastMs = now;
    if (this.cursorS >= this.endS) this.play(false);
    else this.frame = requestAnimationFrame(() => this.tick());
  }
}
