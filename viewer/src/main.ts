import { App } from "./app";
import { keysOf } from "./commands";
import { HttpSource, takeToken } from "./document/http";
import { ReportSource } from "./document/report";
import { embed } from "./embedding";
import { askAccess } from "./frame/access";
import { listen } from "./keys";
import { recall } from "./remember";
import codeStyle from "./style/code.css?raw";
import compareStyle from "./style/compare.css?raw";
import editStyle from "./style/edit.css?raw";
import forcedStyle from "./style/forced.css?raw";
import frameStyle from "./style/frame.css?raw";
import laneStyle from "./style/lane.css?raw";
import navigatorStyle from "./style/navigator.css?raw";
import panesStyle from "./style/panes.css?raw";
import passesStyle from "./style/passes.css?raw";
import printStyle from "./style/print.css?raw";
import searchStyle from "./style/search.css?raw";
import shareStyle from "./style/share.css?raw";
import tokensStyle from "./style/tokens.css?raw";
import viewsStyle from "./style/views.css?raw";
import { fromFragment, writeAddress } from "./state";

/** Puts the viewer into the page's element `kernlens`, in a shadow root whose style sheets no policy has to allow. */
function start(host: HTMLElement): void {
  const page = new CSSStyleSheet();
  page.replaceSync("@media screen{html,body{margin:0;height:100%;overflow:hidden}}@page{size:auto;margin:12mm}");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, page];
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  const frame = tokensStyle + frameStyle + navigatorStyle + searchStyle + panesStyle + codeStyle + laneStyle + viewsStyle;
  sheet.replaceSync(frame + compareStyle + passesStyle + editStyle + shareStyle + printStyle + forcedStyle);
  root.adoptedStyleSheets = [sheet];
  // So that canvases get colours, not the words that they are written with (light-dark).
  for (const name of ["--mark-lit", "--mark-hit", "--lv", "--accent", "--warn", "--wait"])
    CSS.registerProperty({ name, syntax: "<color>", inherits: true, initialValue: "transparent" });
  const source = host.dataset.mode === "serve" ? new HttpSource(takeToken()) : new ReportSource(document);
  // A report that was saved from a page begins where that page was.
  if (host.dataset.state !== undefined && location.hash === "") writeAddress(fromFragment(host.dataset.state), "replace");
  const app = new App(root, source);
  if (source instanceof HttpSource) source.onNoAccess = () => askAccess(app.dialog, source);
  root.append(app.element);
  listen(root, keysOf(app), () => recall("letters") !== "off");
  embed(host, app);
  void app.start();
}

const host = document.getElementById("kernlens");
if (host !== null) start(host);
