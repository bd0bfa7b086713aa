// Feeds recorded request bodies through an Express server with spillway in front of a stand-in handler, and compares the input
// tokens it holds and charges with what the provider reported. Needs no key and sends nothing anywhere.
//
//   npx tsx scripts/feed-bodies.ts recordings.jsonl ...
//
// Each line of a file is one JSON object:
//   {"api": "openai.chat", "body": {"model": "gpt-4o", "messages": [...]}, "usage": {"input": 57}}
//   api          openai.chat, openai.responses, openai.completions, openai.embeddings or anthropic.messages; lines of another api are
//                passed over and counted
//   body         the request's JSON body, as it was sent
//   usage.input  the input tokens that the provider reported; of Anthropic input_tokens + cache_creation_input_tokens +
//                cache_read_input_tokens
//   model        only for bodies that name none, as Azure's
//   id           optional, to be named by in the report
//   source       optional, shown after the id
//
// The exit code is 1 when a body got a 5xx or no answer at all, when one was free, or when more than 2 % (files and remote images
// aside) were charged over 3 x reported + 100; 2 when there is nothing to feed.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseRecords, type Recording } from './feed/recordings.js';
import { report } from './feed/report.js';
import { type Fed, startServer } from './feed/server.js';

async function main(paths: readonly string[]): Promise<number> {
  if (paths.length === 0) return fail('name one or more JSONL files: npx tsx scripts/feed-bodies.ts recordings.jsonl');
  const recordings: Recording[] = [];
  let passedOver = 0;
  for (const path of paths) {
    try {
      const found = parseRecords(readFileSync(path, 'utf8'), path);
      recordings.push(...found.recordings);
      passedOver += found.passedOver;
    } catch (error) {
      return fail((error as Error).message);
    }
  }
  if (passedOver > 0) console.log(`lines of another api, passed over: ${passedOver}`);
  if (recordings.length === 0)
    return fail('no line has an api that is fed; see the head of scripts/feed-bodies.ts for the format');

  const server = await startServer(modelsOf(recordings));
  const fed: Fed[] = [];
  for (const recording of recordings) fed.push(await server.feed(recording));
  await server.close();
  const { text, isFine } = report(fed);
  console.log(text);
  return isFine ? 0 : 1;
}

/** Names of a kind that an application would configure. */
function modelsOf(recordings: readonly Recording[]): Set<string> {
  const names = recordings.map(({ body }) => body.model);
  return new Set(names.filter((name): name is string => typeof name === 'string' && name !== '' && name.length <= 256));
}

function fail(message: string): number {
  console.error(message);
  return 2;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
