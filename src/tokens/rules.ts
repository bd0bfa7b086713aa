import type { FilePart, Section } from '../dialects/dialect.js';
import type { ImageSize } from './image-size.js';
import type { JsonText } from './json-text.js';

/** How a provider counts: what surrounds texts, and how much they take. */
export interface Rules {
  /** A whole number. */
  sectionTokens(section: Section, measure: Measure): number;
  /** @param within - tokens of all sections */
  overheadTokens(within: number): number;
}

/** How parts are counted, and what was met on the way. */
export interface Measure {
  readonly model: string;
  /** Whether somebody instructs the model. */
  readonly hasSystem: boolean;
  readonly hasTools: boolean;
  readonly count: (text: string) => number;
  /** Writes a value down, as far as the body's share of that goes. */
  readonly writeJson: (value: unknown) => JsonText;
  /** Of its JSON text. */
  readonly countJson: (value: unknown) => number;
  /** Of the image at an address, as far as the address or the application tells. */
  readonly sizeOf: (url: string) => ImageSize | undefined;
  /** A file with as much of its content as may be looked into. */
  readonly lookInto: (file: FilePart) => FilePart;
  hasGuessed: boolean;
  hasImages: boolean;
}
