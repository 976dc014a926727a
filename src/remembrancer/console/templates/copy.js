// Buttons that copy a block of text, and say that they did. Without this script the block is selected with one click.
for (const button of document.querySelectorAll("[data-copies]")) button.hidden = false;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const block = document.getElementById(button.dataset.copies);
  const said = button.parentElement.querySelector(".copied");
  try {
    await navigator.clipboard.writeText(block.textContent);
    said.textContent = "Copied";
  } catch {
    // over plain HTTP browsers lend the clipboard to no page: select the text, so that one key copies it
    getSelection().selectAllChildren(block);
    said.textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => { said.textContent = ""; }, 4000);
});
