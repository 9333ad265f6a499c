// Charts: where the time goes, the order of a run, predictions, the roofline.
{
  const report = sluice.report;

  // Ticks at powers of ten, and at 2 and 5 if there is room.
  sluice.logAxis = (axis, scale, text, most = 8) => {
    const [low, high] = scale.domain();
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high) + 1; power += 1) {
      for (const digit of [1, 2, 5]) ticks.push(digit * 10 ** power);
    }
    let shown = ticks.filter((tick) => tick >= low && tick <= high);
    if (shown.length > most) shown = shown.filter((tick) => /^1e|^10*$|^0\.0*1$/.test(String(tick)) || Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-9);
    while (shown.length > most) shown = shown.filter((_, i) => i % 2 === 0);
    return axis.tickValues(shown).tickFormat((value) => sluice.plain(text(Number(value.toPrecision(12)))));
  };

  const chart = (id, height, label) => {
    const width = sluice.widthIn(id);
    const svg = d3.select(`#${id}`).html("").append("svg").attr("width", width).attr("height", height).attr("class", "chart").attr("role", "img").attr("aria-label", label);
    return { svg, width, height, left: 108, right: width - 16, top: 16, bottom: height - 50 };
  };
  // The width of a drawing that fills this element, in pixels.
  sluice.widthIn = (id, most = 1080) => {
    const style = getComputedStyle(document.getElementById(id));
    const inside = document.getElementById(id).clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return Math.max(280, Math.min(most, Math.floor(inside)));
  };

  const axes = (frame, x, y, xText, yText, xTitle, yTitle) => {
    const { svg, left, right, top, bottom } = frame;
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`).call(sluice.logAxis(d3.axisBottom(x).tickSize(top - bottom), x, xText, frame.width < 600 ? 4 : 8));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`).call(sluice.logAxis(d3.axisLeft(y).tickSize(left - right), y, yText));
    svg.append("text").attr("class", "title").attr("x", (left + right) / 2).attr("y", bottom + 42).attr("text-anchor", "middle").text(xTitle);
    svg.append("text").attr("class", "title").attr("transform", `translate(18,${(top + bottom) / 2}) rotate(-90)`).attr("text-anchor", "middle").text(yTitle);
  };

  const point = (selection, lines, op) => {
    selection.attr("tabindex", op ? 0 : null).attr("role", op ? "button" : null).attr("aria-label", lines().join(", "))
      .on("mousemove", () => sluice.tip(lines)(d3.event)).on("mouseleave", sluice.hideTip);
    if (op) {
      selection.on("click", () => sluice.choose(op, true)).on("keydown", () => {
        if (d3.event.key === "Enter") sluice.choose(op, true);
      });
    }
  };

  const around = (values, factor) => [d3.min(values) / factor, d3.max(values) * factor];
  const radius = (op) => 4 + 9 * Math.sqrt(op.share);
  const legend = (id, entries) =>
    document.getElementById(id).prepend(sluice.make("div", { class: "legend" }, sluice.legend(entries)));

  sluice.showStrip = () => {
    const ops = report.ops;
    const stretches = report.graph.nodes.filter((node) => node.first !== undefined);
    const single = report.ops_left_out === 0;
    const pieces = single ? ops : stretches;
    if (pieces.length === 0) {
      sluice.fill("strip", sluice.make("p", { class: "note" }, "This plan has no ops."));
      return;
    }
    sluice.fill("strip-note", `Each piece is ${single ? "an op" : "a stretch of ops"}, as wide as the time that it takes, in the colours of the graph. A click shows its candidates.`);
    const width = sluice.widthIn("strip", 3000), height = 54;
    const svg = d3.select("#strip").html("").append("svg").attr("width", width).attr("height", height + 24).attr("class", "strip");
    const total = d3.sum(pieces, (piece) => piece.seconds) || 1;
    const unit = total >= 1 ? ["s", 1] : ["ms", 1e-3];
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height + 2})`)
      .call(d3.axisBottom(d3.scaleLinear().domain([0, total / unit[1]]).range([0, width - 1])).ticks(Math.max(2, width / 110)).tickFormat((v) => `${+v.toPrecision(6)} ${unit[0]}`))
      .selectAll("text").attr("text-anchor", (v, i) => (i === 0 ? "start" : "middle"));
    let at = 0;
    const rects = [];
    for (const piece of pieces) {
      const wide = (width * piece.seconds) / total;
      const op = piece.candidates ? piece : undefined;
      const node = op ? { seconds: op.seconds, predicted_seconds: op.predicted_seconds, margin: op.margin } : piece;
      const rect = svg.append("rect").attr("x", at).attr("y", 0).attr("width", Math.max(wide - 0.6, 0.3)).attr("height", height);
      const name = op ? `${op.number} ${op.op}` : sluice.count(piece.count, "op");
      rect.attr("aria-label", name).on("click", () => sluice.choose(piece, true)).on("mouseleave", sluice.hideTip)
        .on("mousemove", () => sluice.tip(() => [name, op ? op.kernelName : "", `${sluice.time(piece.seconds)}, ${sluice.percent(piece.seconds / sluice.opSeconds)}`])(d3.event));
      // A name is there if all of it fits, or if 8 letters do.
      const letters = Math.floor((wide - 8) / 7);
      const text = svg.append("text").attr("class", "piece").attr("x", at + wide / 2).attr("y", height / 2 + 4).attr("text-anchor", "middle")
        .text([name, op ? op.op : name].find((each) => each.length <= letters) || (letters >= 8 ? `${name.slice(0, letters - 1)}\u2026` : ""));
      rects.push([rect, node, op || sluice.byPosition.get(piece.count === 1 ? piece.first : -1), text]);
      at += wide;
    }
    sluice.paintStrip = (mode) => rects.forEach(([rect, node, op, text]) => {
      const colour = mode.of(node, op);
      rect.attr("fill", colour);
      text.style("fill", sluice.inkOn(colour));
    });
  };

  sluice.showBars = () => {
    const rows = d3.nest().key((group) => group.op).entries(report.groups);
    for (const row of rows) {
      row.seconds = d3.sum(row.values, (group) => group.seconds);
      row.count = d3.sum(row.values, (group) => group.count);
    }
    rows.sort((a, b) => b.seconds - a.seconds);
    const shown = rows.slice(0, 16);
    const most = d3.max(shown, (row) => row.seconds) || 1;
    legend("bars", sluice.libraries.map((name) => [sluice.libraryColour(name), name.toLowerCase()]));
    document.getElementById("bars").append(...shown.map((row) => sluice.make("div", { class: "barrow" },
      sluice.make("span", { class: "barname", title: row.key }, row.key),
      sluice.make("span", { class: "track" }, row.values.map((group) => sluice.make("i", {
        style: `width:${(100 * group.seconds) / most}%;background:${sluice.libraryColour(group.library)}`,
        title: `${sluice.kernel(group)} at ${group.place}: ${sluice.time(group.seconds)}, ${sluice.count(group.count, "op")}`,
      }))),
      sluice.make("span", { class: "barvalue" }, `${sluice.time(row.seconds)}, ${sluice.percent(row.seconds / sluice.opSeconds)}, ${sluice.count(row.count, "op")}`))));
    if (rows.length > shown.length) document.getElementById("bars").append(sluice.make("p", { class: "note" }, `${rows.length - shown.length} more types of ops take ${sluice.time(d3.sum(rows.slice(16), (row) => row.seconds))}.`));
  };

  sluice.showPrediction = () => {
    const ops = report.ops.filter((op) => op.ratio !== null);
    if (ops.length === 0) {
      sluice.fill("prediction-chart", sluice.make("p", { class: "note" }, "Nothing to compare."));
      return;
    }
    const frame = chart("prediction-chart", 460, "Predicted against measured time of each op; the table of ops has the numbers");
    const domain = around(ops.flatMap((op) => [op.seconds, op.predicted_seconds]), 1.6);
    const x = d3.scaleLog().domain(domain).range([frame.left, frame.right]);
    const y = d3.scaleLog().domain(domain).range([frame.bottom, frame.top]);
    for (const [axis, wide] of [[x, true], [y, false]]) {
      const end = Math.min(1e-6, domain[1]);
      if (end <= domain[0]) continue;
      const [left, top] = wide ? [frame.left, frame.top] : [frame.left, axis(end)];
      frame.svg.append("rect").attr("class", "unclear").attr("x", left).attr("y", top)
        .attr("width", (wide ? axis(end) : frame.right) - left).attr("height", frame.bottom - top);
    }
    if (domain[0] < 1e-6) frame.svg.append("text").attr("class", "roofname").attr("x", frame.right - 6).attr("y", frame.bottom - 6).attr("text-anchor", "end").text("below 1 \u00b5s: too short to compare");
    axes(frame, x, y, sluice.anyTime, sluice.anyTime, "predicted time of the kernel", "measured time in a run");
    for (const [factor, style] of [[1, "even"], [2, "twice"], [0.5, "twice"]]) {
      const low = Math.max(domain[0], domain[0] / factor), high = Math.min(domain[1], domain[1] / factor);
      frame.svg.append("line").attr("class", style).attr("x1", x(low)).attr("y1", y(low * factor)).attr("x2", x(high)).attr("y2", y(high * factor));
    }
    for (const op of [...ops].sort((a, b) => b.seconds - a.seconds)) {
      const colour = sluice.evidenceColour(op.evidence);
      point(frame.svg.append("circle").attr("class", "point").attr("cx", x(op.predicted_seconds)).attr("cy", y(op.seconds)).attr("r", radius(op)).attr("fill", colour),
        () => [`${op.number} ${op.op}  ${op.kernelName}`, `predicted ${sluice.predicted(op)}, ${op.evidence}`, `measured ${sluice.time(op.seconds)}: ${sluice.times(op.ratio)}`], op);
    }
    legend("prediction-chart", sluice.evidences.filter((e) => ops.some((op) => op.evidence === e)).map((e) => [sluice.evidenceColour(e), { measured: "predicted by a measurement of this very kernel and signature", "measured nearby": "by measurements of nearby sizes", estimated: "estimated from its work" }[e]]));
  };

  // All kernels with a measured time except the chosen ones.
  const otherKernels = () => Object.values(report.lists).flatMap((list) => list.candidates
    .filter((c) => c.work && c.place === "cpu" && c.measured && c.measured.median)
    .map((c) => ({ candidate: c, signature: list.signature, bytes: c.work.bytes + c.work.extra_bytes, seconds: c.measured.median })));

  sluice.showRoofline = () => {
    const machine = report.machine;
    const peak = machine.float32 * machine.threads;
    const bandwidthOf = (level) => machine[`${level}_all_threads`];
    const bytesOf = (op) => op.work.bytes + op.work.extra_bytes;
    const ops = report.ops.filter((op) => op.place === "cpu" && op.work.flops > 0 && bytesOf(op) > 0 && op.seconds > 0);
    const others = otherKernels().filter((other) => other.candidate.work.flops > 0 && other.bytes > 0);
    const left = report.ops.length - ops.length;
    sluice.fill("roofline-note", `To the right: FLOP (additions and multiplications) per byte that a kernel reads and writes, as its estimate counts them. Upwards: FLOP per second. No kernel can be above the roof of the cache or memory that holds its data (slanted), nor above what the arithmetic units of ${sluice.count(machine.threads, "thread")} can do (level). Filled: the kernels that run, by their time in a run. Rings: the other kernels that were measured, by themselves. The machine's figures are ${machine.date ? `those measured on ${machine.date.slice(0, 10)}` : "derived from its CPU's features, not measured"}.${left ? ` ${sluice.count(left, "op")} without arithmetic or elsewhere than on the CPU ${left === 1 ? "is" : "are"} not here.` : ""}`);
    if (ops.length === 0) {
      sluice.fill("roofline-chart", sluice.make("p", { class: "note" }, "No op with arithmetic runs on the CPU."));
      return;
    }
    const frame = chart("roofline-chart", 520, "Roofline of the machine with the kernels on it");
    const intensity = around([...ops.map((op) => op.work.flops / bytesOf(op)), ...others.map((o) => o.candidate.work.flops / o.bytes), peak / bandwidthOf("memory")], 2);
    const rates = around([...ops.map((op) => op.work.flops / op.seconds), ...others.map((o) => o.candidate.work.flops / o.seconds), peak], 1.8);
    const x = d3.scaleLog().domain(intensity).range([frame.left, frame.right]);
    const y = d3.scaleLog().domain(rates).range([frame.bottom, frame.top]);
    axes(frame, x, y, (v) => sluice.number(v), (v) => sluice.rate(v, "FLOP/s"), "FLOP per byte", "FLOP per second");
    const clip = frame.svg.append("clipPath").attr("id", "inside").append("rect").attr("x", frame.left).attr("y", frame.top).attr("width", frame.right - frame.left).attr("height", frame.bottom - frame.top);
    clip.attr("class", "clip");
    const roofs = frame.svg.append("g").attr("clip-path", "url(#inside)");
    const slope = (Math.atan2(y(1) - y(10), x(10) - x(1)) * 180) / Math.PI;
    const levels = [["memory", "memory"], ["l3", "L3 cache"], ["l2", "L2 cache"], ["l1", "L1 cache"]];
    for (const [i, [level, name]] of levels.entries()) {
      const bandwidth = bandwidthOf(level);
      const ridge = peak / bandwidth;
      const low = intensity[0];
      roofs.append("line").attr("class", "roof").attr("x1", x(low)).attr("y1", y(low * bandwidth)).attr("x2", x(ridge)).attr("y2", y(peak));
      // Labels are staggered, because two caches may be equally fast.
      const labelled = Math.max(low * 1.3, (rates[0] * 1.6) / bandwidth) * (ridge / low) ** (0.24 * i);
      roofs.append("text").attr("class", "roofname").attr("transform", `translate(${x(labelled)},${y(labelled * bandwidth) - 5}) rotate(${-slope})`).text(`${name} ${sluice.rate(bandwidth, "B/s")}`);
    }
    roofs.append("line").attr("class", "roof").attr("x1", x(peak / bandwidthOf("l1"))).attr("y1", y(peak)).attr("x2", frame.right).attr("y2", y(peak));
    roofs.append("text").attr("class", "roofname").attr("x", frame.right - 8).attr("y", y(peak) - 6).attr("text-anchor", "end").text(`float32 ${sluice.rate(peak, "FLOP/s")}`);
    for (const other of others) {
      const { candidate } = other;
      point(frame.svg.append("circle").attr("class", "ring").attr("cx", x(candidate.work.flops / other.bytes)).attr("cy", y(candidate.work.flops / other.seconds)).attr("r", 4).attr("stroke", sluice.libraryColour(candidate.library)),
        () => [sluice.kernel(candidate), other.signature.slice(0, 90), `${sluice.time(other.seconds)} by itself`, sluice.rate(candidate.work.flops / other.seconds, "FLOP/s")]);
    }
    for (const op of [...ops].sort((a, b) => b.seconds - a.seconds)) {
      point(frame.svg.append("circle").attr("class", "point").attr("cx", x(op.work.flops / bytesOf(op))).attr("cy", y(op.work.flops / op.seconds)).attr("r", radius(op)).attr("fill", sluice.libraryColour(op.library)),
        () => [`${op.number} ${op.op}  ${op.kernelName}`, `${sluice.time(op.seconds)} in a run, ${sluice.percent(op.share)}`, `${sluice.rate(op.work.flops / op.seconds, "FLOP/s")}, ${sluice.percent(op.work.flops / op.seconds / peak)} of the peak`, `${sluice.number(op.work.flops / bytesOf(op))} FLOP per byte`], op);
    }
    legend("roofline-chart", sluice.libraries.map((name) => [sluice.libraryColour(name), name.toLowerCase()]));
  };
}
