// Answers that do not depend on the design: requested once and kept while the page is open.
import { get, type GetPath, type Got } from './api';

const kept = new Map<string, Promise<unknown>>();

// Sends the request once. A request that failed is sent again at the next call.
function once<P extends GetPath>(path: P): Promise<Got<P>> {
  const known = kept.get(path) as Promise<Got<P>> | undefined;
  if (known) return known;
  const asked = get(path).catch((error) => {
    kept.delete(path);
    throw error;
  });
  kept.set(path, asked);
  return asked;
}

export const templates = () => once('templates').then((t) => t.templates);
export const template = (name: string) => once(`templates/${name}`);
export const completions = () => once('completions').then((c) => c.fields);
export const calculators = () => once('calc').then((c) => c.calculators);
export const catalogTables = () => once('catalog').then((c) => c.tables);
export const catalogRows = (table: string) => once(`catalog/${table}`).then((c) => c.rows);
