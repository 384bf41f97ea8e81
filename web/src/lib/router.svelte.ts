// The URL holds the state: `?page=fabric&network=compute`. A page reads its parameters from here
// and writes them back, so that a reload, a bookmark and the back button show the same view.

export const kPages = [
  { id: 'design', label: 'Design', key: 'd', group: 'Design' },
  { id: 'fabric', label: 'Fabric', key: 'f', group: 'Layers' },
  { id: 'hall', label: 'Hall', key: 'h', group: 'Layers' },
  { id: 'training', label: 'Training', key: 't', group: 'Layers' },
  { id: 'serving', label: 'Serving', key: 's', group: 'Layers' },
  { id: 'storage', label: 'Storage', key: 'o', group: 'Layers' },
  { id: 'run', label: 'Run', key: 'r', group: 'Decide' },
  { id: 'compare', label: 'Compare', key: 'c', group: 'Decide' },
  { id: 'calculators', label: 'Calculators', key: 'k', group: 'Decide' },
  { id: 'store', label: 'Store', key: 'l', group: 'Live' },
  { id: 'catalog', label: 'Catalog', key: 'p', group: 'Evidence' },
  { id: 'accuracy', label: 'Accuracy', key: 'a', group: 'Evidence' },
] as const;

export type PageId = (typeof kPages)[number]['id'];

export interface Location {
  page: PageId;
  params: Record<string, string>;
}

export function parseLocation(search: string): Location {
  const query = new URLSearchParams(search);
  const page = kPages.find((p) => p.id === query.get('page'))?.id ?? 'design';
  query.delete('page');
  query.delete('opened'); // the page that asks for the token adds it
  return { page, params: Object.fromEntries(query) };
}

// Returns the query of a location, parameters in alphabetical order: one state has one address.
export function searchOf(location: Location): string {
  const query = new URLSearchParams();
  if (location.page !== 'design') query.set('page', location.page);
  for (const name of Object.keys(location.params).sort()) {
    if (location.params[name] !== '') query.set(name, location.params[name]);
  }
  const text = query.toString().replaceAll('%2F', '/').replaceAll('%2C', ',');
  return text ? `?${text}` : '';
}

class Router {
  location = $state<Location>({ page: 'design', params: {} });

  start() {
    this.location = parseLocation(window.location.search);
    window.addEventListener('popstate', () => {
      this.location = parseLocation(window.location.search);
    });
  }

  get page(): PageId {
    return this.location.page;
  }

  param(name: string, otherwise = ''): string {
    return this.location.params[name] ?? otherwise;
  }

  // Opens another page, as a new entry of the history.
  go(page: PageId, params: Record<string, string> = {}) {
    this.location = { page, params };
    history.pushState(null, '', this.href(page, params));
    window.scrollTo(0, 0);
  }

  // Changes parameters of the page. Replaces the entry, so that a slider does not fill the history.
  set(changes: Record<string, string>) {
    this.location = { page: this.location.page, params: { ...this.location.params, ...changes } };
    history.replaceState(null, '', this.href(this.location.page, this.location.params));
  }

  href(page: PageId, params: Record<string, string> = {}): string {
    return window.location.pathname + searchOf({ page, params });
  }
}

export const router = new Router();
