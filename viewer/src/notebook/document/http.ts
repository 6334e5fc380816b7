/** A notebook's page has its document in itself, and no server. */
export class HttpSource {}

export function takeToken(): string {
  return "";
}
