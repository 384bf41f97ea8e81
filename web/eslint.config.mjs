// Lint rules of the console: the recommended rules for JavaScript, TypeScript and Svelte, and
// camelCase for our own names. Keys of the API keep the API's spelling, so properties and object
// keys are not checked. prettier checks the layout.
import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import typescript from 'typescript-eslint';

const camelCase = ['error', { properties: 'never', ignoreDestructuring: false }];
const underscoreIsUnused = {
  argsIgnorePattern: '^_',
  varsIgnorePattern: '^_',
  caughtErrorsIgnorePattern: '^_',
};

export default typescript.config(
  { ignores: ['dist/', '.generated/', 'node_modules/'] },
  js.configs.recommended,
  typescript.configs.recommended,
  svelte.configs.recommended,
  svelte.configs.prettier,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    rules: {
      camelcase: camelCase,
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'prefer-const': 'off', // `let { ... } = $props()` mixes names that change with names that do not
      'svelte/prefer-const': 'error',
      'svelte/no-useless-mustaches': 'off', // braces around a text keep its space
      'svelte/prefer-svelte-reactivity': 'off', // our Maps and URLs are used within one call only
      '@typescript-eslint/no-unused-vars': ['error', underscoreIsUnused],
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: typescript.parser } },
  },
);
