// A page that keeps itself true: it listens, fetches itself again when told to, and changes only what is different.
// Everything works without this; with it nothing that a person is doing is taken away, be it focus, a selection, a field
// that is being filled in, an open detail or the place they have scrolled to.

import { morph, parsed } from "./morph.js";
import "./copying.js";
import "./numbers.js";

const FIRST_WAIT_MS = 1000, LONGEST_WAIT_MS = 30000, WHILE_STALE_MS = 15000, NEXT_FETCH_MS = 400, LOST_MS = 10000;

const body = document.body;
const pulse = document.getElementById("pulse");
const banner = document.getElementById("banner");
document.documentElement.classList.add("live");

let source = null, wait = FIRST_WAIT_MS, fetching = false, again = false, heard = Date.now(), timer = 0;

function mainElement() {
  return document.getElementById("main");
}

function address() {
  return location.pathname + location.search;
}

function show(state) {
  if (!pulse) return;
  const word = { live: pulse.dataset.live, opening: pulse.dataset.connecting, lost: pulse.dataset.notLive }[state];
  pulse.hidden = false;
  if (pulse.dataset.state !== state) {
    pulse.dataset.state = state;
    pulse.querySelector(".word").textContent = word;
    pulse.title = word;
  }
}

/** What the banner says. It stays one element for good, since only then is it read aloud when it changes. */
function say(nodes) {
  const text = nodes.map((node) => node.textContent).join("").trim();
  if (banner && banner.textContent.trim() !== text) banner.replaceChildren(...(text ? nodes : []));
}

function sayLost() {
  const line = document.createElement("p");
  line.textContent = body.dataset.lost.replace("{when}", new Date(heard).toLocaleTimeString());
  say([line]);
}

/** Fetch this page again and put in what is different. One at a time; what is asked for meanwhile is done once, after. */
export async function refresh() {
  // A page without a stamp, such as the answer to a form, is not at its address.
  if (!mainElement()?.dataset.stamp) return;
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  try {
    const answer = await fetch(address(), { headers: { "X-Fragment": "main" }, credentials: "same-origin" });
    if (answer.status === 401) {
      location.reload();
      return;
    }
    const fresh = parsed(await answer.text()).querySelector("main");
    if (!fresh) return;
    const told = fresh.querySelector("template[data-banner]");
    say(told ? [...told.content.children].map((node) => document.importNode(node, true)) : []);
    told?.remove();
    const main = mainElement(), stamp = main.dataset.stamp;
    morph(main, fresh);
    // Events alone move the stamp: the page may be of a later moment than what the stream has told, and whoever comes
    // back would miss what lies between.
    if (main.dataset.stamp) main.dataset.stamp = stamp;
    heard = Date.now();
    document.dispatchEvent(new CustomEvent("tangram:refreshed"));
  } catch {
    // Nobody answers; the stream notices as well, and says so.
  } finally {
    setTimeout(() => {
      fetching = false;
      if (again) {
        again = false;
        refresh();
      }
    }, NEXT_FETCH_MS);
  }
}

function somethingTyped() {
  const fields = [...document.querySelectorAll("main textarea, main input:not([type=hidden])")];
  return fields.some((field) => field.value !== field.defaultValue);
}

/** A page that answers a form has no stamp: fetched again it would be another, so it stays as it is. */
function listen() {
  clearTimeout(timer);
  source?.close();
  const main = mainElement();
  if (!main?.dataset.stamp || document.hidden) return;
  show(pulse?.dataset.state === "lost" ? "lost" : "opening");
  source = new EventSource(`/events?page=${encodeURIComponent(address())}&since=${encodeURIComponent(main.dataset.stamp)}`);
  source.addEventListener("open", () => {
    wait = FIRST_WAIT_MS;
    if (pulse?.dataset.state === "lost") refresh();
    show("live");
    heard = Date.now();
  });
  source.addEventListener("changed", (event) => {
    main.dataset.stamp = event.lastEventId || main.dataset.stamp;
    heard = Date.now();
    refresh();
  });
  source.addEventListener("tiles", (event) => {
    main.dataset.stamp = event.lastEventId || main.dataset.stamp;
    heard = Date.now();
    document.dispatchEvent(new CustomEvent("tangram:tiles", { detail: event.data }));
  });
  // Another process answers, or other rights hold: everything may be different, the scripts too.
  source.addEventListener("again", (event) => {
    if (!somethingTyped()) {
      location.reload();
      return;
    }
    main.dataset.stamp = event.lastEventId || main.dataset.stamp;
    refresh();
    document.dispatchEvent(new CustomEvent("tangram:again"));
  });
  source.addEventListener("ended", () => location.reload());
  source.addEventListener("error", () => {
    source.close();
    show("lost");
    timer = setTimeout(listen, wait * (0.75 + Math.random() / 2));
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  });
}

// A page that nobody looks at costs the server nothing, and is fetched anew when somebody does.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    source?.close();
    source = null;
    clearTimeout(timer);
  } else if (!source) {
    refresh();
    listen();
  }
});
setInterval(() => {
  if (!document.hidden && pulse?.dataset.state === "lost" && Date.now() - heard > LOST_MS) sayLost();
}, FIRST_WAIT_MS);
setInterval(() => {
  if (!document.hidden && banner?.textContent.trim() && pulse?.dataset.state === "live") refresh();
}, WHILE_STALE_MS);
// Moments are written in UTC; whoever hovers sees them in their own time.
document.addEventListener("pointerover", (event) => {
  const time = event.target instanceof Element ? event.target.closest("time[datetime]") : null;
  if (time && !time.title) time.title = new Date(time.dateTime).toLocaleString();
});
listen();
