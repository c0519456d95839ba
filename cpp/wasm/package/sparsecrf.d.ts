/** The columns of a token if the model has a template; otherwise its attributes, each a name or a [name, value] pair. */
export type Token = string | readonly (string | readonly [name: string, value: number])[];

/** A labelling of a sentence and its probability. */
export interface Labelling {
  labels: string[];
  probability: number;
}

/** A term of the score of the best labels: the attribute contributes value * weight. */
export interface Reason {
  token: number;
  attribute: string;
  /** The previous label, "" at the start; null if the weight belongs to the label alone. */
  previous: string | null;
  label: string;
  value: number;
  weight: number;
}

/** A model. Error messages give the expected value, the actual value and the location. */
export declare class Tagger {
  readonly labels: string[];
  /** The minimum number of columns of a token; -1 if tokens are given as attributes. */
  readonly columns: number;
  label(tokens: readonly Token[]): string[];
  /** The marginal probability of each label at each token, one row per token. */
  marginals(tokens: readonly Token[]): number[][];
  nbest(tokens: readonly Token[], k: number): Labelling[];
  /** The nonzero terms of the score of the best labels. */
  reasons(tokens: readonly Token[]): Reason[];
  /** Frees the memory of the model. */
  close(): void;
}

/** The library, an instance of sparsecrf.wasm. */
export declare class Sparsecrf {
  static load(wasm: BufferSource | WebAssembly.Module): Promise<Sparsecrf>;
  /** Opens a model from the content of its file. */
  open(content: Uint8Array): Tagger;
  readonly version: string;
}
