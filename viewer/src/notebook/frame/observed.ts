/** A notebook's output is small: what was observed on data is not shown there. */
export function observedOfLine(): null {
  return null;
}

export function requestsOfLine(): null {
  return null;
}
