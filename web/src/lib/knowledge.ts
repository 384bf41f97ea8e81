// What the server knows and no design changes: asked once, kept for the life of the page.
import { get } from './api';
import type {
  Calculator,
  CatalogRow,
  CatalogTable,
  CompletionField,
  Template,
  TemplateSummary,
} from './types';

const kept = new Map<string, Promise<unknown>>();

// A request that failed is asked again the next time.
function once<T>(path: string): Promise<T> {
  const known = kept.get(path) as Promise<T> | undefined;
  if (known) return known;
  const asked = get<T>(path).catch((error) => {
    kept.delete(path);
    throw error;
  });
  kept.set(path, asked);
  return asked;
}

export const templates = () => once<{ templates: TemplateSummary[] }>('templates').then((t) => t.templates);
export const template = (name: string) => once<Template>(`templates/${name}`);
export const completions = () => once<{ fields: CompletionField[] }>('completions').then((c) => c.fields);
export const calculators = () => once<{ calculators: Calculator[] }>('calc').then((c) => c.calculators);
export const catalog_tables = () => once<{ tables: CatalogTable[] }>('catalog').then((c) => c.tables);
export const catalog_rows = (table: string) =>
  once<{ rows: CatalogRow[] }>(`catalog/${table}`).then((c) => c.rows);
