// Builds one page and its hashed assets; the build of the binary embeds them. Every page except
// Design, the editor and the charts are separate chunks, so that the first load stays small.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// `npm run dev` talks to a running server: ORRERY_URL=http://127.0.0.1:8117 ORRERY_TOKEN=...
const server = process.env.ORRERY_URL ?? 'http://127.0.0.1:8117';
const token = process.env.ORRERY_TOKEN ?? '';

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    outDir: 'dist',
    assetsInlineLimit: 0, // the page's security policy allows no data: URLs
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
  server: {
    host: '127.0.0.1',
    proxy: {
      '/api': {
        target: server,
        changeOrigin: true,
        headers: { Authorization: `Bearer ${token}`, Origin: server },
      },
    },
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
