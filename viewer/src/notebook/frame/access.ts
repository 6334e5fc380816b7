/** A notebook's output asks no server. */
export function askAccess(): void {}
