// The field above the list of ops: shows rows and families that have its words.
const filter = document.getElementById("filter");
filter?.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/);
  const has = text => words.every(word => text.toLowerCase().includes(word));
  for (const section of document.querySelectorAll("section > section")) {
    const family = section.querySelector("h2").textContent + " " + section.id;
    let shown = 0;
    for (const row of section.querySelectorAll("tbody tr")) {
      row.hidden = !has(family + " " + row.textContent);
      shown += !row.hidden;
    }
    section.hidden = shown === 0;
  }
});
