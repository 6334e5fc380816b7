import { App } from "./app";
import { keysOf } from "./commands";
import { HttpSource, takeToken } from "./document/http";
import { ReportSource } from "./document/report";
import { listen } from "./keys";
import { recall } from "./remember";
import codeStyle from "./style/code.css?raw";
import forcedStyle from "./style/forced.css?raw";
import frameStyle from "./style/frame.css?raw";
import laneStyle from "./style/lane.css?raw";
import panesStyle from "./style/panes.css?raw";
import tokensStyle from "./style/tokens.css?raw";
import viewsStyle from "./style/views.css?raw";

/** Puts the viewer into the page's element `kernlens`, in a shadow root whose style sheets no policy has to allow. */
function start(host: HTMLElement): void {
  const page = new CSSStyleSheet();
  page.replaceSync("html,body{margin:0;height:100%;overflow:hidden}");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, page];
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(tokensStyle + frameStyle + panesStyle + codeStyle + laneStyle + viewsStyle + forcedStyle);
  root.adoptedStyleSheets = [sheet];
  // So that canvases get colours, not the words that they are written with (light-dark).
  for (const name of ["--mark-lit", "--mark-hit", "--lv", "--accent", "--warn", "--wait"])
    CSS.registerProperty({ name, syntax: "<color>", inherits: true, initialValue: "transparent" });
  const source = host.dataset.mode === "serve" ? new HttpSource(takeToken()) : new ReportSource(document);
  const app = new App(root, source);
  root.append(app.element);
  listen(root, keysOf(app), () => recall("letters") !== "off");
  void app.start();
}

const host = document.getElementById("kernlens");
if (host !== null) start(host);
