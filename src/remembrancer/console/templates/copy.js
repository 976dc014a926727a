// Copy buttons. Without this script, one click selects the block.
for (const button of document.querySelectorAll("[data-copies]")) button.hidden = false;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const block = document.getElementById(button.dataset.copies);
  const status = button.parentElement.querySelector(".copied");
  try {
    await navigator.clipboard.writeText(block.textContent);
    status.textContent = "Copied";
  } catch {
    // Browsers give no access to the clipboard over plain HTTP: select the text instead.
    getSelection().selectAllChildren(block);
    status.textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => { status.textContent = ""; }, 4000);
});

// A proposal that is dropped leaves the page; nothing was stored.
for (const button of document.querySelectorAll("[data-drop]")) {
  button.hidden = false;
  button.addEventListener("click", () => button.closest("[data-proposal]").remove());
}
