/** The columns of a token if the model has a template; else its attributes, each a name or a name with its value. */
export type Token = string | readonly (string | readonly [name: string, value: number])[];

/** A labelling of a sentence, and how probable it is. */
export interface Labelling {
  labels: string[];
  probability: number;
}

/** A term of the score of the best labels: value * weight is what the attribute adds. */
export interface Reason {
  token: number;
  attribute: string;
  /** The label before, "" at the start; null: the weight is of the label alone. */
  previous: string | null;
  label: string;
  value: number;
  weight: number;
}

/** A model. Errors say what was expected, what was found, and where. */
export declare class Tagger {
  readonly labels: string[];
  /** Columns that a token must have at least; -1: tokens have attributes of their own. */
  readonly columns: number;
  label(tokens: readonly Token[]): string[];
  /** The probability of each label at each token: a row for each token. */
  marginals(tokens: readonly Token[]): number[][];
  nbest(tokens: readonly Token[], k: number): Labelling[];
  /** Why the best labels are the best. */
  reasons(tokens: readonly Token[]): Reason[];
  /** Gives the memory of the model back. */
  close(): void;
}

/** The library: the content of sparsecrf.wasm at work. */
export declare class Sparsecrf {
  static load(wasm: BufferSource | WebAssembly.Module): Promise<Sparsecrf>;
  /** The model in the content of its file. */
  open(content: Uint8Array): Tagger;
  readonly version: string;
}
