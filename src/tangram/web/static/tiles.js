// Tiles as `/cluster.json` and the stream tell them, and which of them a filter leaves: the rules of `web/tile_filter.py`.
// A test asks both the same.

import { stateOf, CORDONED, FREE, UNHEALTHY, USED } from "./cells.js";

export const READY = 0, NODE_CORDONED = 1, NOT_READY = 2;

/** One row with the words that it names by their places. */
export function tileOf([name, state, kinds, policies, namespaces, cells], told) {
  return {
    name,
    state,
    kinds: kinds.map((place) => told.kinds[place]),
    policies: policies.map((place) => told.policies[place]),
    namespaces: namespaces.map((place) => told.namespaces[place]),
    cells,
  };
}

export function count(tile, state) {
  return tile.cells.reduce((sum, cell) => sum + (stateOf(cell) === state), 0);
}

export function freeOf(tile) {
  return tile.state === READY ? count(tile, FREE) : 0;
}

const inState = {
  free: (tile) => freeOf(tile) > 0,
  used: (tile) => count(tile, USED) > 0,
  unhealthy: (tile) => count(tile, UNHEALTHY) > 0,
  cordoned: (tile) => tile.state === NODE_CORDONED || count(tile, CORDONED) > 0,
  "not-ready": (tile) => tile.state === NOT_READY,
};

export function matches(tile, by) {
  return (
    (!by.vendor || tile.kinds.some((kind) => kind[0] === by.vendor)) &&
    (!by.product || tile.kinds.some((kind) => kind[1] === by.product)) &&
    (!by.policy || tile.policies.includes(by.policy)) &&
    (!by.q || tile.name.toLowerCase().includes(by.q.toLowerCase())) &&
    (!by.state || !inState[by.state] || inState[by.state](tile)) &&
    (!by.namespace || tile.namespaces.includes(by.namespace))
  );
}
