#!/usr/bin/env node
import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { runCommand } from './run.js';

const { stdin, stdout, stderr } = process;
// Whoever reads may stop at any time, like `head`: what is written then is lost, and nothing is wrong.
for (const stream of [stdout, stderr]) stream.on('error', () => {});

const { version } = createRequire(import.meta.url)('spillway/package.json') as { version: string };

process.exitCode = await runCommand(process.argv.slice(2), {
  version,
  open: (file) => (file === '-' ? stdin : createReadStream(file)),
  print: (text) => new Promise((resolve) => stdout.write(text, (error) => resolve(!error))),
  complain: (text) => void stderr.write(text),
});
