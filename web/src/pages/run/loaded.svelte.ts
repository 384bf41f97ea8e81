// A run that is looked at: its answer, its timeline and its hall, loaded by its number.
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

// For the top of a component; `id` may be empty.
export function loadRun(id: () => string) {
  return load<LoadedRun | null>(() => {
    const asked = id();
    return async (signal) => {
      if (!asked) return null;
      const [run, timeline, hall] = await Promise.all([
        get(`runs/${asked}`, signal),
        get(`runs/${asked}/timeline`, signal),
        get(`runs/${asked}/hall`, signal).catch(() => null), // a hall that cannot be drawn is no fault of the run
      ]);
      return { id: asked, run, model: new RunModel(timeline), hall };
    };
  }, 0);
}
