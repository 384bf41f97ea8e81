// Types of /api/v1. `npm run types` generates them from docs/api/openapi.yaml, and `npm run check`
// generates them again before it checks, so the page always matches the contract.
export type * from '../../.generated/openapi';
