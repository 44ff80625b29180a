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
