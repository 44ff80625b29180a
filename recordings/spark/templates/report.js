// A cursor over the timelines that says what each group's lag was there. Without it nothing is missing but that.
(() => {
  const readout = document.createElement("div");
  readout.className = "readout";
  readout.hidden = true;
  document.body.append(readout);
  const clock = (s) => (s >= 3600 ? `${Math.floor(s / 3600)}:${String(Math.floor(s / 60) % 60).padStart(2, "0")}` : Math.floor(s / 60)) + ":" + String(s % 60).padStart(2, "0");
  const age = (us) => (us < 1e6 ? `${Math.round(us / 1e3)} ms` : us < 1e7 ? `${(us / 1e6).toFixed(1)} s` : `${Math.round(us / 1e6)} s`);
  for (const svg of document.querySelectorAll("svg.timeline")) {
    const data = JSON.parse(svg.nextElementSibling.textContent);
    const cursor = svg.querySelector(".cursor");
    const hide = () => { cursor.setAttribute("visibility", "hidden"); readout.hidden = true; };
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * data.width;
      if (x < data.left || x > data.left + data.plot) return hide();
      const second = ((x - data.left) / data.plot) * (data.virtual_us / 1e6);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", "visible");
      readout.replaceChildren(Object.assign(document.createElement("b"), { textContent: clock(Math.floor(second)) }));
      for (const group of data.groups) {
        const point = Math.min(group.lag.length - 1, Math.floor(second / group.seconds));
        if (point < 0) continue;
        const line = document.createElement("div");
        const name = Object.assign(document.createElement("span"), { textContent: `${group.group} ` });
        line.append(name, `${group.lag[point].toLocaleString("en")} behind, ${age(group.age[point])} old`);
        readout.append(line);
      }
      readout.hidden = false;
      const width = readout.offsetWidth;
      readout.style.left = `${event.clientX + 16 + width > innerWidth ? event.clientX - 16 - width : event.clientX + 16}px`;
      readout.style.top = `${event.clientY + 14}px`;
    });
  }
})();

// A table of flights that sorts by a click on a head, and shows the rows that hold every word of a filter.
(() => {
  const number = (text) => { const found = Number(text.replaceAll(",", "")); return text && !Number.isNaN(found) ? found : null; };
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], rows = [...body.rows];
    const sort = (head) => {
      const down = head.getAttribute("aria-sort") !== "descending", place = head.cellIndex;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const of = (row) => row.cells[place].innerText.trim();
      rows.sort((a, b) => {
        const x = number(of(a)), y = number(of(b));
        const order = x !== null && y !== null ? y - x : of(a).localeCompare(of(b), "en", { numeric: true });
        return down ? order : -order;
      });
      body.append(...rows);
    };
    for (const head of table.tHead.rows[0].cells) {
      head.tabIndex = 0;
      head.setAttribute("role", "button");
      head.addEventListener("click", () => sort(head));
      head.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(head); } });
    }
    const bar = document.createElement("label"), input = document.createElement("input"), told = document.createElement("span");
    bar.className = "filter";
    Object.assign(input, { type: "search", placeholder: "Filter: words of a row" });
    input.setAttribute("aria-label", "Filter");
    const show = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      told.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
    };
    input.addEventListener("input", show);
    bar.append(input, told);
    table.parentElement.before(bar);
    show();
  }
})();

// What is folded on the screen is open on paper.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details:not([open])")) Object.assign(folded, { open: true }).dataset.folded = "";
});
addEventListener("afterprint", () => {
  for (const opened of document.querySelectorAll("details[data-folded]")) { opened.open = false; delete opened.dataset.folded; }
});
