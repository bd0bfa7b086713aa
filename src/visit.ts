export interface Visit {
  readonly identity: import('./call.js').Identity;
}
