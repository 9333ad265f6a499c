// The memory of each place, by instruction.
{
  const { make } = sluice;

  const name = (block) => (block.kind === "scratch" ? `scratch memory of ${block.from}` : block.var);
  const life = (block) => `from step ${block.first} (${block.from}) to ${block.last} (${block.to})`;

  const map = (place) => {
    const width = sluice.widthIn("memory-charts") - 36, height = 320, left = 84, right = width - 20, top = 16, bottom = height - 46;
    const last = Math.max(sluice.report.instructions, 1);
    const x = d3.scaleLinear().domain([0, last]).range([left, right]);
    const y = d3.scaleLinear().domain([0, place.arena || 1]).range([bottom, top]);
    const svg = d3.create("svg").attr("width", width).attr("height", height).attr("class", "chart").attr("role", "img").attr("aria-label", `Memory at ${place.place}`);
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`).call(d3.axisBottom(x).ticks(Math.min(last, width / 90)).tickFormat((v) => (Number.isInteger(v) ? v.toLocaleString("en") : "")));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`).call(d3.axisLeft(y).ticks(6).tickSize(left - right).tickFormat((v) => sluice.plain(sluice.bytes(Math.round(v)))));
    svg.append("text").attr("class", "title").attr("x", (left + right) / 2).attr("y", bottom + 38).attr("text-anchor", "middle").text("step of the plan");
    svg.append("text").attr("class", "title").attr("transform", `translate(16,${(top + bottom) / 2}) rotate(-90)`).attr("text-anchor", "middle").text("bytes");
    const largest = place.blocks.slice(0, 5);
    for (const block of place.blocks) {
      svg.append("rect").attr("class", block.kind === "scratch" ? "block scratch" : "block").attr("x", x(block.first)).attr("width", Math.max(x(Math.min(block.last + 1, last)) - x(block.first), 0.5))
        .attr("y", y(block.offset + block.bytes)).attr("height", Math.max(y(block.offset) - y(block.offset + block.bytes), 0.3))
        .on("mousemove", () => sluice.tip(() => [name(block), sluice.bytes(block.bytes), life(block)])(d3.event))
        .on("mouseleave", sluice.hideTip);
    }
    largest.forEach((block, i) => {
      const middle = x((block.first + Math.min(block.last + 1, last)) / 2);
      svg.append("text").attr("class", "blockname").attr("x", middle).attr("y", y(block.offset + block.bytes / 2) + 4).attr("text-anchor", "middle").text(i + 1);
    });
    const line = d3.line().curve(d3.curveStepAfter).x((step) => x(step[0])).y((step) => y(step[1]));
    svg.append("path").attr("class", "used").attr("d", line([...place.steps, [last, place.steps.length ? place.steps[place.steps.length - 1][1] : 0]]));
    return svg.node();
  };

  sluice.showMemory = () => {
    const places = sluice.report.memory;
    if (places.length === 0) {
      sluice.fill("memory-charts", make("p", { class: "note" }, "No value of this plan needs memory of its own."));
      return;
    }
    sluice.fill("memory-charts", places.flatMap((place) => {
      const peak = d3.max(place.steps, (step) => step[1]) || 0;
      return [
        make("p", { class: "note" }, `At ${place.place}: one block of memory of ${sluice.bytes(place.arena)} holds all intermediate values. Each box is a value: as wide as the steps that need it, as high as its bytes, at its place in the block (dashed: scratch memory of a kernel). The line is what is in use; its peak is ${sluice.bytes(peak)}, ${sluice.percent(place.arena ? peak / place.arena : 0)} of the block. Parameters and fed values are not in it.${place.left_out ? ` ${sluice.count(place.left_out, "smaller value")} left out.` : ""}`),
        make("div", { class: "panel scroll" }, map(place),
          make("p", { class: "note" }, "The largest, by their numbers in the chart:"),
          make("ol", { class: "largest" }, place.blocks.slice(0, 5).map((block) =>
            make("li", {}, make("b", {}, name(block)), ` ${sluice.bytes(block.bytes)}, `, make("span", { class: "quiet" }, life(block)))))),
      ];
    }));
  };
}
