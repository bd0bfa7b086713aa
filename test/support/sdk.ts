import OpenAI, { type ClientOptions } from 'openai';
import { createApp } from '../../examples/express/app.js';
import type { Options, SpillwayEvents } from '../../src/index.js';
import { listen } from './loopback.js';
import { createOutbound, type Outbound } from './outbound.js';
import type { ProviderOptions } from './provider.js';

/** What somebody with the official SDK gets. */
export interface Heard {
  readonly text: string;
  readonly finish: string | null | undefined;
  readonly outcome: string | null;
  readonly model: string | null;
}

export type Mode = 'create' | 'stream';

/** The example's server between the official SDK and the stand-in provider. */
export interface SdkWorld {
  readonly outbound: Outbound;
  readonly answered: readonly SpillwayEvents['request-answered'][];
  client(options?: ClientOptions): OpenAI;
  ask(mode: Mode, text: string, more?: object): Promise<Heard>;
  close(): Promise<void>;
}

export async function createSdkWorld(
  options: Partial<Options<'user'>> = {},
  providerOptions: Partial<ProviderOptions> = {},
): Promise<SdkWorld> {
  const outbound = await createOutbound({ scopes: { user: { budgets: [] } }, ...options }, providerOptions);
  const answered: SpillwayEvents['request-answered'][] = [];
  outbound.gate.on('request-answered', (event) => answered.push(event));
  const server = await listen(createApp(outbound.gate, outbound.provider.url));
  const client = (more: ClientOptions = {}) =>
    new OpenAI({ apiKey: 'unused', baseURL: `${server.url}/v1`, defaultHeaders: { 'x-user': 'ada' }, ...more });

  return {
    outbound,
    answered,
    client,
    ask: (mode, text, more = {}) =>
      hear(client(), mode, { model: 'gpt-4o', messages: [{ role: 'user', content: text }], ...more }),
    async close() {
      await server.close();
      await outbound.close();
    },
  };
}

async function hear(client: OpenAI, mode: Mode, body: object): Promise<Heard> {
  const { completions } = client.chat;
  if (mode === 'create') {
    const { data, response } = await completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming).withResponse();
    const [choice] = data.choices;
    return { text: choice?.message.content ?? '', finish: choice?.finish_reason, ...told(response) };
  }
  const asked = { ...body, stream: true } as OpenAI.ChatCompletionCreateParamsStreaming;
  const { data, response } = await completions.create(asked).withResponse();
  let text = '';
  let finish: string | null | undefined;
  for await (const { choices } of data) {
    text += choices[0]?.delta.content ?? '';
    finish = choices[0]?.finish_reason ?? finish;
  }
  return { text, finish, ...told(response) };
}

function told({ headers }: Response) {
  return { outcome: headers.get('spillway-outcome'), model: headers.get('spillway-model') };
}
