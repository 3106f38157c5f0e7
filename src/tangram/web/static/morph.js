// One tree made equal to another by the fewest changes, so that whatever did not change is the same element as before:
// it keeps its focus, its selection and its scroll. What a person did themselves is left alone: typed text, choices, open
// details. An element with `data-keep` belongs to a script and is not entered.

const policy = globalThis.trustedTypes
  ? trustedTypes.createPolicy("tangram", { createHTML: (text) => text })
  : { createHTML: (text) => text };

/** HTML from our own server as a document of its own, in which no script runs. */
export function parsed(text) {
  return new DOMParser().parseFromString(policy.createHTML(text), "text/html");
}

const THEIRS = new Set(["open", "tabindex", "data-state"]);

function sameKind(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName && (one.id ?? "") === (other.id ?? "")
    && (one.dataset?.key ?? "") === (other.dataset?.key ?? "");
}

function attributes(old, fresh) {
  const mayKeep = /^(DETAILS|DIALOG|A)$/.test(old.nodeName);
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(mayKeep && THEIRS.has(name))) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !(mayKeep && THEIRS.has(name))) old.setAttribute(name, value);
  }
}

function field(old, fresh) {
  // A field that shows what the server wrote follows it; one that somebody changed does not.
  if (old === document.activeElement) return true;
  if (old.nodeName === "TEXTAREA") {
    if (old.value === old.defaultValue) old.value = old.defaultValue = fresh.defaultValue;
    return true;
  }
  if (old.nodeName === "SELECT") {
    const chosen = old.value;
    children(old, fresh);
    old.value = chosen;
    return true;
  }
  return false;
}

function children(old, fresh) {
  const kept = new Map();
  for (const child of old.children) {
    const key = child.id || child.dataset?.key;
    if (key) kept.set(key, child);
  }
  let place = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const key = next.nodeType === Node.ELEMENT_NODE ? next.id || next.dataset?.key : "";
    const known = key ? kept.get(key) : null;
    if (known && sameKind(known, next)) {
      if (known !== place) old.insertBefore(known, place);
      else place = place.nextSibling;
      morph(known, next);
    } else if (!key && place && sameKind(place, next)) {
      const mine = place;
      place = place.nextSibling;
      morph(mine, next);
    } else {
      old.insertBefore(document.importNode(next, true), place);
    }
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}

export function morph(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.hasAttribute("data-keep")) return;
  attributes(old, fresh);
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(old.nodeName) && field(old, fresh)) return;
  if (old.nodeName === "TEMPLATE") return;
  children(old, fresh);
}
