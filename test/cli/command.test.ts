import { describe, expect, it } from 'vitest';
import { readCommand } from '../../src/cli/command.js';

describe('the arguments', () => {
  it.each([
    [['estimate', 'a.json'], { kind: 'estimate', file: 'a.json', model: undefined, path: undefined, json: false }],
    [
      ['estimate', '-', '--json', '--model', 'gpt-4o'],
      { kind: 'estimate', file: '-', model: 'gpt-4o', path: undefined, json: true },
    ],
    [
      ['--path=/v1/messages', 'estimate', 'a'],
      { kind: 'estimate', file: 'a', model: undefined, path: '/v1/messages', json: false },
    ],
    [['estimate', '--', '--json'], { kind: 'estimate', file: '--json', model: undefined, path: undefined, json: false }],
    [['--help'], { kind: 'help' }],
    [['estimate', '-h'], { kind: 'help' }],
    [['--version'], { kind: 'version' }],
  ])('%j are read', (args, command) => {
    expect(readCommand(args)).toEqual(command);
  });

  it.each([
    [[], 'no command is given'],
    [['guess'], 'there is no command "guess"'],
    [['estimate'], 'no FILE is given'],
    [['estimate', ''], 'no FILE is given'],
    [['estimate', 'a', 'b'], 'more than one FILE is given'],
    [['estimate', 'a', '--model', ''], '--model is empty'],
    [['estimate', 'a', '--path='], '--path is empty'],
    [['estimate', 'a', '--jsonl'], /--jsonl/],
    [['estimate', 'a', '--model'], /--model/],
    [['estimate', 'a', '--json=1'], /--json/],
  ])('%j are wrong', (args, fault) => {
    expect(readCommand(args)).toEqual({ kind: 'wrong', fault: fault instanceof RegExp ? expect.stringMatching(fault) : fault });
  });
});
