import type { Extension } from "@codemirror/state";

import { highlight, type Grammar } from "../../panes/highlight";

const C: Grammar =
  /(?<c>\/\/.*$|\/\*.*?(?:\*\/|$)|^\s*\*(?:\s.*|\/)?$)|(?<w>^\s*#.*$)|(?<s>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<n>\b(?:0x[0-9A-Fa-f]+[uUlL]*|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?[fFuUlLh]*|true|false)\b)|(?<k>\b(?:_{0,2}(?:kernel|global|local|constant|private|generic|read_only|write_only|read_write)|if|else|for|while|do|switch|case|default|break|continue|return|goto|sizeof|struct|union|enum|typedef|const|restrict|volatile|static|inline|extern|unsigned|signed|class|namespace|template|typename|using|auto|operator|public|private|protected|void|bool|(?:u?(?:char|short|int|long)|half|float|double)(?:2|3|4|8|16)?|size_t|ptrdiff_t|image[123]d(?:_array)?_t|sampler_t|event_t)\b)|(?<f>\b[A-Za-z_]\w*(?=\s*\())/g;

/** Source files in a notebook, line by line: a whole parser of C++ would take a third of the output. */
export const LANGUAGE: Extension = highlight(C);
