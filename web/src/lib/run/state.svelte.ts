// What the timelines and halls of the Run page share: the window, the cursor, and whether it plays.
import { showing, whole, type Window } from './view';

export const kSpeeds = [
  { label: '10 min/s', value: 600 },
  { label: '1 h/s', value: 3600 },
  { label: '6 h/s', value: 21_600 },
  { label: '1 d/s', value: 86_400 },
  { label: '7 d/s', value: 604_800 },
];

export class RunView {
  end_s = $state(1);
  window = $state.raw<Window>({ from_s: 0, to_s: 1 });
  cursor_s = $state(0);
  playing = $state(false);
  speed = $state(kSpeeds[2].value); // simulated seconds a second
  private last_ms = 0;
  private frame = 0;

  // A run of another length begins anew; the same length keeps the place.
  fit(end_s: number) {
    if (end_s === this.end_s) return;
    this.end_s = end_s;
    this.window = whole(end_s);
    this.cursor_s = Math.min(this.cursor_s, end_s);
  }

  put(t: number) {
    this.cursor_s = Math.min(this.end_s, Math.max(0, t));
    this.window = showing(this.window, this.cursor_s, this.end_s);
  }

  play(on: boolean) {
    cancelAnimationFrame(this.frame);
    this.playing = on;
    if (!on) return;
    if (this.cursor_s >= this.end_s) this.put(0);
    this.last_ms = performance.now();
    this.frame = requestAnimationFrame(() => this.tick());
  }

  private tick() {
    const now = performance.now();
    this.put(this.cursor_s + ((now - this.last_ms) / 1000) * this.speed);
    this.last_ms = now;
    if (this.cursor_s >= this.end_s) this.play(false);
    else this.frame = requestAnimationFrame(() => this.tick());
  }
}
