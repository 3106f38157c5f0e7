// Buttons that copy. Where the browser does not let us, the text is selected for the person to copy.

const SHOWN_MS = 1600;

export function announce(text) {
  const place = document.getElementById("say");
  if (!place) return;
  place.textContent = "";
  setTimeout(() => { place.textContent = text; }, 30);
}

function selectFor(button, text) {
  const near = button.closest(".shown-by, .popped, .panel")?.querySelector("code, pre, textarea");
  if (near?.textContent.trim() === text.trim()) {
    getSelection().selectAllChildren(near);
    return;
  }
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.className = "copy-field";
  button.after(field);
  field.select();
  field.addEventListener("blur", () => field.remove());
}

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element ? event.target.closest("button[data-copy]") : null;
  if (!button) return;
  const words = document.body.dataset;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    selectFor(button, button.dataset.copy);
    announce(words.copyFailed);
    return;
  }
  const label = button.querySelector("span") ?? button;
  label.dataset.label ??= label.textContent;
  label.textContent = words.copied;
  button.dataset.done = "";
  announce(words.copied);
  setTimeout(() => {
    label.textContent = label.dataset.label;
    delete label.dataset.label;
    delete button.dataset.done;
  }, SHOWN_MS);
});
