// A click on a number shows the command that prints it, beside the number. Without this the link leads to the same line.

const MOVED_PX = 40;
let popped = null, openedAt = 0;

function close() {
  popped?.remove();
  popped = null;
}

function open(link, line) {
  close();
  popped = document.createElement("div");
  popped.className = "popped";
  popped.popover = "auto";
  popped.setAttribute("role", "dialog");
  popped.setAttribute("aria-label", document.body.dataset.shownBy);
  const title = document.createElement("strong");
  title.textContent = document.body.dataset.shownBy;
  const inner = document.createElement("div");
  inner.className = "shown-by";
  inner.append(...[...line.children].map((child) => child.cloneNode(true)));
  popped.append(title, inner);
  document.body.append(popped);
  popped.showPopover();
  openedAt = scrollY;
  const at = link.getBoundingClientRect(), size = popped.getBoundingClientRect();
  const below = at.bottom + 6 + size.height < innerHeight;
  popped.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
  popped.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - size.height - 6)}px`;
  const mine = popped;
  mine.addEventListener("toggle", (event) => {
    if (event.newState === "closed") {
      mine.remove();
      if (popped === mine) popped = null;
      if (document.activeElement === document.body) link.focus({ preventScroll: true });
    }
  });
  popped.querySelector("button")?.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a.num[href^='#by-']") : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const line = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  if (!line) return;
  event.preventDefault();
  open(link, line);
});
addEventListener("scroll", () => {
  if (popped && Math.abs(scrollY - openedAt) > MOVED_PX) close();
}, { passive: true });
