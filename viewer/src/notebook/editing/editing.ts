/** Nothing is compiled in a notebook. */
export class Editing {}
