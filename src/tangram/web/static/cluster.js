// The cluster page with thousands of nodes: all tiles as data, only those near the screen as elements.
// The form filters at once and writes itself into the address; the server gives the same page for that address.

import { emptyCells, drawInto, flash, CORDONED, IN_A_ROW, UNHEALTHY } from "./cells.js";
import { announce } from "./copying.js";
import { count, freeOf, matches, tileOf, READY } from "./tiles.js";

const STATES = ["ready", "cordoned", "not-ready"];
const ROWS_AROUND = 3, SETTLE_MS = 250;
const ALL_UNTIL = 200; // So few need no trick, and are found by the browser's own search and printed.

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
let columns = 1, rowHeight = 100, tileWidth = 100, stepAcross = 100;
let current = "", ready = false, placed = "", laidOut = "", news = 0;

const collator = new Intl.Collator("en", { numeric: true });

// --- data ------------------------------------------------------------------------------------------------------------

function take(told) {
  const before = new Map();
  if (told.whole) byName.clear();
  let order = told.whole;
  for (const row of told.rows) {
    const tile = tileOf(row, told);
    const old = byName.get(tile.name);
    if (old) before.set(tile.name, old);
    else order = true;
    byName.set(tile.name, tile);
  }
  for (const name of told.gone) order = byName.delete(name) || order;
  if (order) names = told.whole ? told.rows.map((row) => row[0]) : [...byName.keys()].sort(collator.compare);
  return before;
}

function chosen() {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
}

// --- tiles -----------------------------------------------------------------------------------------------------------

/** What follows the name for those who do not see the cells. */
function label(tile) {
  const said = ["", words.states[tile.state]];
  const product = tile.kinds.length === 1 ? tile.kinds[0][1] : "";
  said.push(words.cards.replace("{n}", tile.cells.length).replace("{product}", product || words.some_card));
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
  note.setAttribute("aria-hidden", "true");
  const sentence = document.createElement("span");
  sentence.className = "unseen";
  sentence.textContent = label(tile);
  head.replaceChildren(name, sentence, note);
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

/** Where tiles go: as the style sheet would lay them out, so that nothing moves when the script takes over. */
function measure() {
  list.classList.remove("placed");
  const style = getComputedStyle(list);
  const tracks = style.gridTemplateColumns.split(" ");
  columns = Math.max(1, tracks.length);
  const gap = parseFloat(style.rowGap);
  tileWidth = parseFloat(tracks[0]);
  stepAcross = tileWidth + gap;
  rowHeight = parseFloat(style.gridAutoRows) + gap;
  list.classList.add("placed");
  list.style.setProperty("--width", `${tileWidth}px`);
  list.style.setProperty("--height", `${rowHeight - gap}px`);
  list.style.height = `${Math.max(0, Math.ceil(shown.length / columns) * rowHeight - gap)}px`;
  placed = "";
}

function place() {
  if (!ready) return;
  const top = list.getBoundingClientRect().top;
  const rows = Math.ceil(shown.length / columns);
  const few = shown.length <= ALL_UNTIL;
  // In steps of some rows, so that most movements of the wheel change no element at all.
  const first = Math.floor((-top / rowHeight - ROWS_AROUND) / ROWS_AROUND) * ROWS_AROUND;
  const last = Math.ceil(((innerHeight - top) / rowHeight + ROWS_AROUND) / ROWS_AROUND) * ROWS_AROUND;
  const from = few ? 0 : Math.max(0, Math.min(first, rows - 1));
  const to = few ? rows : Math.max(from + 1, Math.min(rows, last));
  const now = `${from} ${to} ${columns} ${news}`;
  if (now === placed) return;
  placed = now;
  const wanted = shown.slice(from * columns, to * columns).map((tile, nth) => [tile, from * columns + nth]);
  keepFocused(wanted, from * columns);
  const keep = new Set(wanted.map(([tile]) => tile.name));
  const spare = [];
  for (const [name, item] of made) {
    if (keep.has(name)) continue;
    made.delete(name);
    item.remove();
    spare.push(item);
  }
  arrange(wanted.map(([tile, index]) => itemFor(tile, index, spare)));
  roving(wanted);
}

/** Whoever stands on a tile keeps it, wherever they have scrolled to. */
function keepFocused(wanted, first) {
  const name = list.contains(document.activeElement) ? document.activeElement.parentElement.tile?.name : undefined;
  const index = name === undefined ? -1 : shown.findIndex((tile) => tile.name === name);
  if (index < 0 || wanted.some(([tile]) => tile.name === name)) return;
  if (index < first) wanted.unshift([shown[index], index]);
  else wanted.push([shown[index], index]);
}

function itemFor(tile, index, spare) {
  let item = made.get(tile.name);
  if (!item) {
    item = spare.pop() ?? makeItem();
    made.set(tile.name, item);
  }
  if (item.tile !== tile) fill(item, tile);
  const at = `translate(${(index % columns) * stepAcross}px, ${Math.floor(index / columns) * rowHeight}px)`;
  if (item.at !== at) item.style.transform = item.at = at;
  if (item.index !== index) item.ariaPosInSet = String((item.index = index) + 1);
  if (item.of !== shown.length) item.ariaSetSize = String((item.of = shown.length));
  return item;
}

/** Put elements in order. Those that stay are in order already and are not moved, which would take the focus away. */
function arrange(items) {
  const wanted = new Set(items);
  for (const item of [...list.children]) if (!wanted.has(item)) item.remove();
  let at = list.firstElementChild;
  for (const item of items) {
    if (item === at) at = at.nextElementSibling;
    else list.insertBefore(item, at);
  }
}

/** One tile at a time is reached by Tab: the one last stood on, or the first on the screen. */
function roving(wanted) {
  const reachable = wanted.some(([tile]) => tile.name === current) ? current : wanted[0]?.[0].name;
  for (const [name, item] of made) {
    const link = item.firstElementChild;
    const index = name === reachable ? 0 : -1;
    if (link.tabIndex !== index || !link.hasAttribute("tabindex")) link.tabIndex = index;
  }
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
  const by = chosen();
  shown = names.map((name) => byName.get(name)).filter((tile) => matches(tile, by));
  const most = names.reduce((all, name) => Math.max(all, byName.get(name).cells.length), 1);
  const layout = `tiles size-${sizeFor(shown.length)} rows-${Math.min(4, Math.ceil(most / IN_A_ROW))}`;
  found.textContent = found.dataset.text.replace("{found}", number.format(shown.length)).replace("{all}", number.format(names.length));
  none.hidden = shown.length > 0;
  none.textContent = names.length ? none.dataset.noMatch : none.dataset.none;
  news += 1;
  if (laidOut !== `${layout} ${shown.length}`) {
    laidOut = `${layout} ${shown.length}`;
    list.className = layout;
    measure();
  }
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
    if (to !== location.pathname + location.search) history.replaceState(null, "", to);
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
      if (alarm?.dataset.alarm === name) alarm.dataset.quiet = text === "0" || text === "–" ? "yes" : "no";
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

let early = [];
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

async function everything() {
  try {
    const answer = await fetch("/cluster.json", { credentials: "same-origin" });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

/** All tiles anew; what is told meanwhile comes after them. */
async function begin() {
  ready = false;
  early = [];
  const told = await everything();
  if (told) take(told);
  else if (!byName.size) return;
  for (const later of early) take(later);
  // Tiles that the server made are taken over where they are, so that nothing moves.
  for (const item of [...list.children]) {
    const tile = byName.get(item.querySelector(".tile-name").textContent);
    if (!tile) continue;
    made.set(tile.name, item);
  }
  ready = true;
  grid.querySelector(".pager")?.remove();
  apply();
}

// What is here was told by another process, or for other rights.
document.addEventListener("tangram:again", begin);
begin();
