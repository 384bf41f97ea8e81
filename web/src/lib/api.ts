// Requests to /api/v1. A refusal of the server comes as an ApiProblem with its diagnostics; a
// request that a newer one made stale is aborted and throws `AbortError`.
import type { Diagnostic, Problem } from './types';

export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.title);
  }
  get diagnostics(): Diagnostic[] {
    return this.problem.diagnostics ?? [];
  }
}

export function is_abort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

// What to tell a person about an error of any kind.
export function describe(error: unknown): string {
  if (error instanceof ApiProblem) {
    const first = error.diagnostics[0];
    return first ? `${error.problem.title}: ${first.what}` : error.problem.title;
  }
  if (error instanceof TypeError) return 'The server does not answer. Is `orrery serve` running?';
  return error instanceof Error ? error.message : String(error);
}

async function problem_of(response: Response): Promise<ApiProblem> {
  const is_problem = response.headers.get('content-type')?.includes('json');
  const problem: Problem = is_problem
    ? await response.json()
    : { title: `${response.status} ${response.statusText}`, status: response.status };
  return new ApiProblem(response.status, problem);
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(`/api/v1/${path}`, init);
  if (!response.ok) throw await problem_of(response);
  return response;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await send(path, { signal })).json();
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await post_raw(path, body, signal)).json();
}

export function post_raw(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return send(path, { method: 'POST', headers, body: JSON.stringify(body), signal });
}

export async function post_text<T>(path: string, body: string, signal?: AbortSignal): Promise<T> {
  const headers = { 'content-type': 'application/yaml' };
  return (await send(path, { method: 'POST', headers, body, signal })).json();
}

export async function remove(path: string): Promise<void> {
  await send(path, { method: 'DELETE' });
}
