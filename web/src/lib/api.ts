// Requests to /api/v1. If the server refuses a request, the functions throw an ApiProblem with its
// diagnostics; a request that a newer one replaced is aborted and throws `AbortError`.
//
// The types come from docs/api/openapi.yaml: an unknown path, a body of the wrong shape, or a
// misread answer does not compile.
import type { Diagnostic, Problem, paths } from './types';

type Method = 'get' | 'post';
// Turns "/api/v1/catalog/{table}" into the type of a request's path: `catalog/${string}`.
type Filled<P> = P extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : P;
type Asked<P> = P extends `/api/v1/${infer Rest}` ? Filled<Rest> : never;
type Operations<M extends Method> = {
  [P in keyof paths as paths[P] extends Record<M, object> ? Asked<P> : never]: paths[P][M];
};
type Gets = Operations<'get'>;
type Posts = Operations<'post'>;

type Content<T, Type extends string> = T extends { content: Record<Type, infer Shape> } ? Shape : never;
type Good<Responses> = Responses[keyof Responses & (200 | 202)];
type Answer<Operation> = Operation extends { responses: infer R }
  ? Content<Good<R>, 'application/json'>
  : never;
type Body<Operation> = Operation extends { requestBody: infer B } ? Content<B, 'application/json'> : never;

export type GetPath = keyof Gets;
export type Got<P extends GetPath> = Answer<Gets[P]>;
export type PostPath = keyof Posts;
export type Sent<P extends PostPath> = Body<Posts[P]>;
export type Answered<P extends PostPath> = Answer<Posts[P]>;

export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.title);
  }
  get diagnostics(): Diagnostic[] {
    return this.problem.diagnostics;
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

// Returns the text to show for any kind of error.
export function describe(error: unknown): string {
  if (error instanceof ApiProblem) {
    const first = error.diagnostics[0];
    return first ? `${error.problem.title}: ${first.what}` : error.problem.title;
  }
  if (error instanceof TypeError) return 'The server does not answer. Is `orrery serve` running?';
  return error instanceof Error ? error.message : String(error);
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const isProblem = response.headers.get('content-type')?.includes('json');
  const problem: Problem = isProblem
    ? await response.json()
    : { title: `${response.status} ${response.statusText}`, status: response.status, diagnostics: [] };
  return new ApiProblem(response.status, problem);
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(`/api/v1/${path}`, init);
  if (!response.ok) throw await problemOf(response);
  return response;
}

export async function get<P extends GetPath>(path: P, signal?: AbortSignal): Promise<Got<P>> {
  return (await getRaw(path, signal)).json();
}

// Returns the response itself, for answers that are files.
export function getRaw(path: GetPath, signal?: AbortSignal): Promise<Response> {
  return send(path, { signal });
}

export async function post<P extends PostPath>(
  path: P,
  body: Sent<P>,
  signal?: AbortSignal,
): Promise<Answered<P>> {
  return (await postRaw(path, body, signal)).json();
}

// Returns the response itself, for answers that are files.
export function postRaw<P extends PostPath>(path: P, body: Sent<P>, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return send(path, { method: 'POST', headers, body: JSON.stringify(body), signal });
}

export async function review(design: string, signal?: AbortSignal): Promise<Answered<'plan'>> {
  const headers = { 'content-type': 'application/yaml' };
  return (await send('plan', { method: 'POST', headers, body: design, signal })).json();
}

export async function remove(path: string): Promise<void> {
  await send(path, { method: 'DELETE' });
}
