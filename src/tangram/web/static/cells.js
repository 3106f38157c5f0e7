// Cards as cells of a drawing: what `web/cells.py` draws on the server, drawn in the browser. A test compares the two.

export const MODES = ["whole", "sliced", "virtual", "shared", "undecided"];
export const CARD_STATES = ["free", "used", "cordoned", "unhealthy"];
export const FREE = 0, USED = 1, CORDONED = 2, UNHEALTHY = 3;
export const IN_A_ROW = 8;

const WIDTH = 18, HEIGHT = 26, ACROSS = 22, DOWN = 32, MARGIN = 3, BAR = 5, PINS = [5, 13, 21], PERCENTS = 101;
const ORDER = ["memory", "compute", "veil", ...MODES, "pins", "hatch", "bad"];
const SVG = "http://www.w3.org/2000/svg";

export function unpacked(number) {
  const compute = number % PERCENTS;
  const rest = (number - compute) / PERCENTS;
  const memory = rest % PERCENTS;
  const kind = (rest - memory) / PERCENTS;
  return { mode: Math.floor(kind / CARD_STATES.length), state: kind % CARD_STATES.length, memory, compute };
}

export function stateOf(number) {
  return Math.floor(number / (PERCENTS * PERCENTS)) % CARD_STATES.length;
}

export function placeOf(number) {
  return { x: (number % IN_A_ROW) * ACROSS, y: Math.floor(number / IN_A_ROW) * DOWN, width: WIDTH, height: HEIGHT };
}

const tenths = (number) => Math.round(number * 10) / 10;

function filled(x, y, width, percent) {
  const height = tenths((HEIGHT * percent) / 100);
  return `M${x} ${tenths(y + HEIGHT - height)}h${width}v${height}h-${width}z`;
}

function pathsOf(cells) {
  const paths = {};
  const add = (name, path) => { paths[name] = (paths[name] ?? "") + path; };
  cells.forEach((packed, number) => {
    const cell = unpacked(packed);
    const { x, y } = placeOf(number);
    if (cell.memory) add("memory", filled(x, y, WIDTH, cell.memory));
    if (cell.compute) add("compute", filled(x + (WIDTH - BAR) / 2, y, BAR, cell.compute));
    const mode = MODES[cell.mode];
    let frame = `M${x} ${y}h${WIDTH}v${HEIGHT}h-${WIDTH}z`;
    if (mode === "shared") frame += `M${x + 3} ${y - 3}h${WIDTH}v${HEIGHT - 1}`;
    if (mode === "sliced") add("pins", PINS.map((pin) => `M${x - 2} ${y + pin}h2M${x + WIDTH} ${y + pin}h2`).join(""));
    if (cell.state === UNHEALTHY) {
      const cross = `M${x + 4} ${y + 7}l10 12M${x + 14} ${y + 7}l-10 12`;
      add("veil", cross);
      add("bad", frame + cross);
      return;
    }
    add(mode, frame);
    if (cell.state === CORDONED) {
      const hatch = `M${x} ${y + 10}l10 -10M${x} ${y + 18}l18 -18M${x} ${y + 26}l18 -18M${x + 8} ${y + 26}l10 -10`;
      add("veil", hatch);
      add("hatch", hatch);
    }
  });
  return paths;
}

/** Draw cells into an `<svg class="cells">`, as few elements as there are kinds of lines. */
export function drawInto(svg, cells) {
  const rows = Math.max(1, Math.ceil(cells.length / IN_A_ROW));
  const width = (IN_A_ROW - 1) * ACROSS + WIDTH + 2 * MARGIN;
  svg.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${width} ${(rows - 1) * DOWN + HEIGHT + 2 * MARGIN}`);
  const paths = pathsOf(cells);
  svg.replaceChildren(
    ...ORDER.filter((name) => name in paths).map((name) => {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", name);
      path.setAttribute("d", paths[name]);
      return path;
    }),
  );
}

export function emptyCells() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "cells");
  svg.setAttribute("preserveAspectRatio", "xMinYMin meet");
  svg.setAttribute("aria-hidden", "true");
  return svg;
}

/** Make somebody look at a cell, softly. Whoever wants no motion sees the cell as it is. */
export function flash(svg, number) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const { x, y, width, height } = placeOf(number);
  const rect = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ x: x - 2, y: y - 2, width: width + 4, height: height + 4, rx: 3, class: "flash" })) {
    rect.setAttribute(name, value);
  }
  rect.addEventListener("animationend", () => rect.remove());
  svg.append(rect);
}
