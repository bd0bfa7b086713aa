let scratch = new Uint16Array(4_096);
let scratchBytes = Buffer.from(scratch.buffer);

/**
 * The UTF-16 units of a text, valid until the next call. Reading them from the text itself is slow in whole processes where some
 * library has made a subclass of String.
 */
export function unitsOf(text: string): Uint16Array {
  if (text.length > scratch.length) {
    scratch = new Uint16Array(2 ** Math.ceil(Math.log2(text.length)));
    scratchBytes = Buffer.from(scratch.buffer);
  }
  scratchBytes.write(text, 0, 'utf16le');
  return scratch;
}
