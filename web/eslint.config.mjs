// What eslint asks of the console: the recommended rules of JavaScript, TypeScript and Svelte, and
// camelCase for every name that is ours. Keys of the API keep the API's spelling, so properties and
// keys of objects are not judged. Layout is prettier's.
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
      'prefer-const': 'off', // `let { ... } = $props()` mixes what is bound with what is not
      'svelte/prefer-const': 'error',
      'svelte/no-useless-mustaches': 'off', // a text in braces is a space that must stay
      'svelte/prefer-svelte-reactivity': 'off', // our Maps and URLs live within one call
      '@typescript-eslint/no-unused-vars': ['error', underscoreIsUnused],
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: typescript.parser } },
  },
);
