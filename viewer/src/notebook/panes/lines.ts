import { Text } from "@codemirror/state";

/** No text is edited in a notebook: each line is the line that it was. */
export interface Matched {
  readonly former: Int32Array;
  readonly changed: Uint8Array;
}

export function textOf(text: string): Text {
  return Text.of(text.split("\n"));
}

export function matched(_: Text, { lines }: Text): Matched {
  return { former: Int32Array.from({ length: lines }, (_, line) => line), changed: new Uint8Array(lines) };
}
