export { codeFolding, foldEffect, foldState, unfoldEffect } from "@codemirror/language";
