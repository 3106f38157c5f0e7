// The cluster page with thousands of nodes: all tiles as data, only those near the screen as elements.
// The form filters at once and writes itself into the address; the server gives the same page for that address.

import { emptyCells, drawInto, flash, stateOf, CORDONED, FREE, IN_A_ROW, UNHEALTHY } from "./cells.js";
import { announce } from "./copying.js";
import { moved } from "./live.js";

const READY = 0, NODE_CORDONED = 1, NOT_READY = 2;
const STATES = ["ready", "cordoned", "not-ready"];
const ROWS_AROUND = 3, SETTLE_MS = 250;

const grid = document.getElementById("grid");
const list = grid.querySelector("ul.tiles");
const form = document.getElementById("filter");
const found = document.getElementById("found");
const none = document.getElementById("no-match");
const words = JSON.parse(grid.dataset.words);
const marks = [...document.getElementById("state-marks").content.children];
const number = new Intl.NumberFormat("en-US");

const byName = new Map();
let names = [];      // of all nodes, in the order in which people count
let shown = [];      // tiles that match
let made = new Map(); // name -> element, of those near the screen
let columns = 1, rowHeight = 100, current = "", ready = false;

const collator = new Intl.Collator("en", { numeric: true });

// --- data ------------------------------------------------------------------------------------------------------------

function take(told) {
  const before = new Map();
  if (told.whole) byName.clear();
  let order = told.whole;
  for (const [name, state, kinds, policies, namespaces, cells] of told.rows) {
    const old = byName.get(name);
    if (old) before.set(name, old);
    else order = true;
    byName.set(name, {
      name,
      state,
      kinds: kinds.map((place) => told.kinds[place]),
      policies: policies.map((place) => told.policies[place]),
      namespaces: namespaces.map((place) => told.namespaces[place]),
      cells,
    });
  }
  for (const name of told.gone) order = byName.delete(name) || order;
  if (order) names = told.whole ? told.rows.map((row) => row[0]) : [...byName.keys()].sort(collator.compare);
  return before;
}

const count = (tile, state) => tile.cells.reduce((sum, cell) => sum + (stateOf(cell) === state), 0);
const freeOf = (tile) => (tile.state === READY ? count(tile, FREE) : 0);

const inState = {
  free: (tile) => freeOf(tile) > 0,
  used: (tile) => count(tile, 1) > 0,
  unhealthy: (tile) => count(tile, UNHEALTHY) > 0,
  cordoned: (tile) => tile.state === NODE_CORDONED || count(tile, CORDONED) > 0,
  "not-ready": (tile) => tile.state === NOT_READY,
};

function chosen() {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
}

function matcher() {
  const by = chosen();
  const q = by.q.toLowerCase();
  return (tile) =>
    (!by.vendor || tile.kinds.some((kind) => kind[0] === by.vendor)) &&
    (!by.product || tile.kinds.some((kind) => kind[1] === by.product)) &&
    (!by.policy || tile.policies.includes(by.policy)) &&
    (!q || tile.name.toLowerCase().includes(q)) &&
    (!by.state || !inState[by.state] || inState[by.state](tile)) &&
    (!by.namespace || tile.namespaces.includes(by.namespace));
}

// --- tiles -----------------------------------------------------------------------------------------------------------

function label(tile) {
  const said = [tile.name, words.states[tile.state]];
  if (tile.kinds.length) {
    said.push(words.cards.replace("{n}", tile.cells.length).replace("{product}", tile.kinds[0][1] || words.some_card));
  }
  said.push(words.free.replace("{n}", freeOf(tile)));
  for (const [name, state] of [["unhealthy", UNHEALTHY], ["cordoned", CORDONED]]) {
    const many = count(tile, state);
    if (many) said.push(words[name].replace("{n}", many));
  }
  return said.join(words.comma);
}

function fill(item, tile) {
  const link = item.firstElementChild;
  item.tile = tile;
  link.className = `tile tile-${STATES[tile.state]}`;
  link.setAttribute("href", `/nodes/${encodeURIComponent(tile.name)}`);
  link.setAttribute("aria-label", label(tile));
  const head = link.firstElementChild;
  const name = document.createElement("span");
  name.className = "tile-name";
  name.textContent = tile.name;
  let note;
  if (tile.state === READY) {
    note = document.createElement("span");
    note.className = "tile-free";
    note.textContent = `${freeOf(tile)}/${tile.cells.length}`;
  } else {
    note = marks[tile.state - 1].cloneNode(true);
  }
  head.replaceChildren(name, note);
  drawInto(link.lastElementChild, tile.cells);
}

function makeItem() {
  const item = document.createElement("li");
  const link = document.createElement("a");
  const head = document.createElement("span");
  head.className = "tile-head";
  link.append(head, emptyCells());
  item.append(link);
  return item;
}

function measure() {
  const style = getComputedStyle(list);
  columns = Math.max(1, style.gridTemplateColumns.split(" ").length);
  const sample = list.firstElementChild;
  if (sample) rowHeight = sample.getBoundingClientRect().height + parseFloat(style.rowGap);
}

function place() {
  if (!ready) return;
  const top = list.getBoundingClientRect().top;
  const rows = Math.ceil(shown.length / columns);
  const from = Math.max(0, Math.min(rows, Math.floor(-top / rowHeight) - ROWS_AROUND));
  const to = Math.min(rows, Math.ceil((innerHeight - top) / rowHeight) + ROWS_AROUND);
  const wanted = shown.slice(from * columns, Math.max(from + 1, to) * columns);
  const spare = [];
  const keep = new Set(wanted.map((tile) => tile.name));
  for (const [name, item] of made) {
    // Whoever stands on a tile keeps it, wherever they have scrolled to.
    if (!keep.has(name)) {
      made.delete(name);
      spare.push(item);
    }
  }
  const focused = document.activeElement?.parentElement;
  const items = wanted.map((tile, nth) => {
    let item = made.get(tile.name);
    if (!item) {
      item = spare.find((each) => each !== focused) ?? makeItem();
      const at = spare.indexOf(item);
      if (at >= 0) spare.splice(at, 1);
      fill(item, tile);
      made.set(tile.name, item);
    } else if (item.tile !== tile) {
      fill(item, tile);
    }
    item.ariaSetSize = String(shown.length);
    item.ariaPosInSet = String(from * columns + nth + 1);
    return item;
  });
  arrange(items);
  list.style.paddingBlockStart = `${from * rowHeight}px`;
  list.style.paddingBlockEnd = `${Math.max(0, rows - Math.ceil((from * columns + wanted.length) / columns)) * rowHeight}px`;
  roving(wanted);
}

/** Put elements in order without taking out those that stay: taking one out would take the focus away. */
function arrange(items) {
  const wanted = new Set(items);
  for (const item of [...list.children]) if (!wanted.has(item)) item.remove();
  let at = list.firstElementChild;
  for (const item of items) {
    if (item === at) at = at.nextElementSibling;
    else list.insertBefore(item, at);
  }
}

function roving(wanted) {
  const reachable = wanted.some((tile) => tile.name === current) ? current : wanted[0]?.name;
  for (const [name, item] of made) item.firstElementChild.tabIndex = name === reachable ? 0 : -1;
}

let waiting = 0;
function soon() {
  waiting ||= requestAnimationFrame(() => {
    waiting = 0;
    place();
  });
}

// --- filter ----------------------------------------------------------------------------------------------------------

function sizeFor(many) {
  return many <= 48 ? "large" : many <= 600 ? "middle" : "small";
}

function apply() {
  const match = matcher();
  shown = names.map((name) => byName.get(name)).filter(match);
  const most = names.reduce((all, name) => Math.max(all, byName.get(name).cells.length), 1);
  list.className = `tiles size-${sizeFor(shown.length)} rows-${Math.min(4, Math.ceil(most / IN_A_ROW))}`;
  found.textContent = found.dataset.text.replace("{found}", number.format(shown.length)).replace("{all}", number.format(names.length));
  none.hidden = shown.length > 0;
  list.style.paddingBlock = "0";
  if (!list.firstElementChild && shown.length) {
    const item = makeItem();
    fill(item, shown[0]);
    made.set(shown[0].name, item);
    list.append(item);
  }
  measure();
  place();
}

let settling = 0;
function filterChanged() {
  apply();
  clearTimeout(settling);
  settling = setTimeout(() => {
    const said = Object.entries(chosen()).filter(([, value]) => value);
    const query = new URLSearchParams(said).toString();
    document.getElementById("clear").hidden = said.length === 0;
    const to = query ? `/?${query}` : "/";
    if (to !== location.pathname + location.search) {
      history.replaceState(null, "", to);
      moved();
    }
  }, SETTLE_MS);
}

form.addEventListener("input", filterChanged);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  filterChanged();
});
document.getElementById("clear").addEventListener("click", (event) => {
  event.preventDefault();
  for (const field of form.elements) if (field.name) field.value = "";
  filterChanged();
  form.elements.q.focus();
});

// --- keys ------------------------------------------------------------------------------------------------------------

function goTo(index) {
  const tile = shown[Math.max(0, Math.min(shown.length - 1, index))];
  if (!tile) return;
  current = tile.name;
  const row = Math.floor(shown.indexOf(tile) / columns);
  const top = list.getBoundingClientRect().top + row * rowHeight;
  const header = document.querySelector(".top").getBoundingClientRect().height + 8;
  if (top < header) scrollBy(0, top - header);
  else if (top + rowHeight > innerHeight) scrollBy(0, top + rowHeight - innerHeight + 8);
  place();
  made.get(tile.name)?.firstElementChild.focus({ preventScroll: true });
}

list.addEventListener("focusin", (event) => {
  const item = event.target.closest("li");
  if (item?.tile) current = item.tile.name;
});
list.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || !ready) return;
  const at = shown.findIndex((tile) => tile.name === current);
  const page = Math.max(1, Math.floor(innerHeight / rowHeight) - 1) * columns;
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, PageDown: page, PageUp: -page };
  let to = null;
  if (event.key in steps) to = at + steps[event.key];
  else if (event.key === "Home") to = 0;
  else if (event.key === "End") to = shown.length - 1;
  if (to === null) return;
  event.preventDefault();
  if (event.key.startsWith("Arrow") && (to < 0 || to >= shown.length)) return;
  goTo(to);
});
document.addEventListener("keydown", (event) => {
  const writing = event.target instanceof Element && event.target.closest("input, select, textarea, dialog");
  if (event.ctrlKey || event.altKey || event.metaKey || writing) return;
  if (event.key === "/") {
    event.preventDefault();
    form.elements.q.focus();
    form.elements.q.select();
  } else if (event.key === "?") {
    const keys = document.querySelector("details.needs-live");
    keys.open = !keys.open;
    keys.scrollIntoView({ block: "nearest" });
    if (keys.open) announce(keys.textContent.replace(/\s+/g, " "));
  }
});

// --- news ------------------------------------------------------------------------------------------------------------

function headline(told) {
  for (const [name, text] of Object.entries(told.figures ?? {})) {
    for (const place of document.querySelectorAll(`[data-figure="${name}"]`)) {
      const at = place.querySelector("a") ?? place;
      if (at.textContent !== text) at.textContent = text;
      const alarm = place.closest("[data-alarm]");
      if (alarm?.dataset.alarm === name) alarm.dataset.quiet = text === "0" ? "yes" : "no";
    }
  }
  for (const [name, share] of Object.entries(told.shares ?? {})) {
    document.querySelector(`[data-share="${name}"] rect + rect`)?.setAttribute("width", (share * 100).toFixed(1));
  }
}

function flashes(before) {
  for (const [name, old] of before) {
    const item = made.get(name);
    const tile = byName.get(name);
    if (!item || !tile) continue;
    tile.cells.forEach((cell, at) => {
      if (cell !== old.cells[at]) flash(item.firstElementChild.lastElementChild, at);
    });
  }
}

const early = [];
document.addEventListener("tangram:tiles", (event) => {
  const told = JSON.parse(event.detail);
  if (!ready) {
    early.push(told);
    return;
  }
  const before = take(told);
  apply();
  headline(told);
  flashes(before);
});

addEventListener("scroll", soon, { passive: true });
addEventListener("resize", soon, { passive: true });
new ResizeObserver(() => {
  if (!ready) return;
  measure();
  soon();
}).observe(grid);

async function begin() {
  const answer = await fetch("/cluster.json", { credentials: "same-origin" });
  if (!answer.ok) return;
  take(await answer.json());
  for (const told of early) take(told);
  // Tiles that the server made are taken over where they are, so that nothing moves.
  for (const item of [...list.children]) {
    const tile = byName.get(item.querySelector(".tile-name").textContent);
    if (!tile) continue;
    item.tile = tile;
    made.set(tile.name, item);
  }
  ready = true;
  grid.querySelector(".pager")?.remove();
  apply();
}

begin();
