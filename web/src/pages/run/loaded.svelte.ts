// A run on the page: its result, its timeline and its hall, loaded by the run's id.
import { get } from '../../lib/api';
import { load } from '../../lib/load.svelte';
import type { Hall, Run } from '../../lib/types';
import { RunModel } from './model';

export interface LoadedRun {
  id: string;
  run: Run;
  model: RunModel;
  hall: Hall | null;
}

// Call it while a component is set up. `id` may return an empty text.
export function loadRun(id: () => string) {
  return load<LoadedRun | null>(() => {
    const asked = id();
    return async (signal) => {
      if (!asked) return null;
      const [run, timeline, hall] = await Promise.all([
        get(`runs/${asked}`, signal),
        get(`runs/${asked}/timeline`, signal),
        get(`runs/${asked}/hall`, signal).catch(() => null), // the run is shown even if its hall cannot be drawn
      ]);
      return { id: asked, run, model: new RunModel(timeline), hall };
    };
  }, 0);
}
