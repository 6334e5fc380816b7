/** Nothing is shared of a notebook's output. */
export class Sharing {}
