// The shapes of /api/v1. `npm run types` makes them from docs/api/openapi.yaml, and `npm run check`
// makes them anew, so that page and contract cannot drift apart. They are gone from what is built.
export type * from '../../.generated/openapi';
