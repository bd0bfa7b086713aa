import { expect } from 'vitest';

const LIMIT = 6_000;

/** What both examples of several instances print: each answered its half, both together no more than the limit. */
export function expectOneBudget(lines: readonly string[]): void {
  const instances = lines.slice(0, 2).map((line, index) => {
    const found = new RegExp(`^instance ${index + 1}: (\\d+) passed(?:, (\\d+) static)?; its calls used (\\d+) tokens$`).exec(
      line,
    );
    expect(found, line).not.toBeNull();
    // One that came first may have found room for all of its callers.
    const [, passed, prepared, tokens] = (found ?? []).map((text) => Number(text ?? 0));
    return { passed: passed ?? 0, prepared: prepared ?? 0, tokens: tokens ?? 0 };
  });
  const sum = instances.reduce((all, { tokens }) => all + tokens, 0);

  expect(instances.map(({ passed, prepared }) => passed + prepared)).toEqual([40, 40]);
  for (const { passed } of instances) expect(passed).toBeGreaterThan(0);
  expect(sum).toBeGreaterThan(LIMIT / 2);
  expect(sum).toBeLessThanOrEqual(LIMIT);
  expect(lines.slice(2)).toEqual([
    `together ${sum} tokens; Redis counts ${sum} of ${LIMIT} a minute`,
    expect.stringMatching(/^the provider refused 0 of \d+ calls$/),
  ]);
}
