// The panel with details of one op: its kernels with times and refusals.
{
  const { make } = sluice;

  const row = (name, ...value) => [make("dt", {}, name), make("dd", {}, ...value)];
  const list = (values, left) =>
    make("ul", { class: "values" },
      values.map((value) => make("li", {}, make("b", {}, value.argument), ` ${value.var} `, make("span", { class: "quiet" }, sluice.shape(value)))),
      left ? make("li", { class: "quiet" }, `and ${left} more`) : null);

  // Refused kernels, grouped by the reason. Those of other places and dtypes
  // are last.
  const common = [
    [(candidate) => candidate.elsewhere, () => `not considered: the plan is at ${sluice.report.place}`],
    [(candidate, op) => candidate.dtype !== op.dtype, (op) => `for other dtypes than ${op.dtype}`],
  ];
  const isWrong = (candidate) => candidate.measured && candidate.measured.verdict === "wrong";
  const isRefused = (candidate) => candidate.refusal && !isWrong(candidate);
  const refusals = (op) => {
    const groups = new Map();
    for (const candidate of op.candidates.filter(isRefused)) {
      const rank = common.findIndex(([holds]) => holds(candidate, op));
      const why = rank < 0 ? sluice.sentence(candidate.refusal) : common[rank][1](op);
      if (!groups.has(why)) groups.set(why, { rank, kernels: [] });
      const name = `${candidate.place === op.place ? "" : `${candidate.place} `}${sluice.kernel(candidate)}`;
      groups.get(why).kernels.push(candidate.dtype === op.dtype ? name : `${name} ${candidate.dtype}`);
    }
    if (groups.size === 0) return [];
    const sorted = [...groups].sort(([, a], [, b]) => a.rank - b.rank);
    return [
      make("h4", {}, `Refused: ${sluice.count(op.candidates.filter(isRefused).length, "kernel")}`),
      make("ul", { class: "refusals" }, sorted.map(([why, { kernels }]) =>
        make("li", {}, make("b", {}, String(kernels.length)), ` ${why}: `, make("span", { class: "quiet" }, kernels.join(", "))))),
    ];
  };

  const seconds = (candidate) =>
    candidate.measured && candidate.measured.median ? candidate.measured.median : candidate.predicted_seconds;

  const state = (op, candidate) =>
    candidate === op.candidates[op.chosen]
      ? ["chosen", "chosen"]
      : isWrong(candidate) ? ["wrong", "wrong results"] : ["possible", "possible"];

  const error = (measured) => {
    if (!measured || measured.verdict === "unchecked") return "?";
    if (measured.error === null) return "infinite";
    return sluice.number(measured.error, 2);
  };

  const candidateRow = (op, candidate) => {
    const [kind, word] = state(op, candidate);
    const measured = candidate.measured;
    const timed = measured && measured.median;
    const chosen = op.candidates[op.chosen];
    const cells = [
      make("th", { scope: "row" }, sluice.kernel(candidate),
        candidate.place === op.place ? null : make("span", { class: "quiet" }, ` at ${candidate.place}`)),
      make("td", {}, make("span", { class: `tag ${kind}` }, word)),
      make("td", { class: "n" }, candidate.refusal ? "-" : sluice.predicted(candidate)),
      make("td", { class: "n" }, timed ? sluice.time(measured.median) : "-",
        timed ? make("div", { class: "quiet" }, measured.rounds < sluice.report.least_turns ? sluice.interval(measured, measured.rounds, "round") : `${sluice.interval(measured)}, ${sluice.count(measured.rounds, "round")}`) : null),
      make("td", { class: "n" }, candidate.refusal ? "-" : sluice.times(candidate.predicted_seconds / chosen.predicted_seconds)),
      make("td", { class: "n" }, candidate.refusal && !measured ? "-" : error(measured)),
    ];
    const reason = candidate.refusal
      ? make("tr", { class: "reason" }, make("td", { colspan: 6 }, sluice.sentence(candidate.refusal)))
      : null;
    return [make("tr", { class: kind }, cells), reason];
  };

  // Dots with intervals, on a logarithmic scale.
  const intervals = (op, candidates) => {
    const timed = candidates.filter((c) => !c.refusal && seconds(c) > 0);
    if (timed.length < 2) return null;
    const width = sluice.widthIn("details", 560), height = 24 * timed.length + 34, left = 176;
    const low = d3.min(timed, (c) => (c.measured && c.measured.low) || seconds(c));
    const high = d3.max(timed, (c) => (c.measured && c.measured.high) || seconds(c));
    const x = d3.scaleLog().domain([low / 1.3, high * 1.3]).range([left, width - 20]);
    const svg = d3.create("svg").attr("width", width).attr("height", height).attr("role", "img")
      .attr("aria-label", "Times of the kernels with their intervals; the table has the numbers");
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - 24})`)
      .call(sluice.logAxis(d3.axisBottom(x), x, sluice.anyTime, 4));
    timed.forEach((candidate, i) => {
      const y = 14 + 24 * i;
      const chosen = candidate === op.candidates[op.chosen];
      const colour = sluice.libraryColour(candidate.library);
      svg.append("text").attr("x", left - 10).attr("y", y + 4).attr("text-anchor", "end")
        .attr("font-weight", chosen ? 700 : 400).text(`${sluice.kernel(candidate)}${candidate.place === op.place ? "" : ` ${candidate.place}`}`.slice(0, 24));
      svg.append("line").attr("class", "grid").attr("x1", left).attr("x2", width - 20).attr("y1", y).attr("y2", y);
      if (candidate.measured && candidate.measured.median) {
        svg.append("line").attr("x1", x(candidate.measured.low)).attr("x2", x(candidate.measured.high)).attr("y1", y).attr("y2", y)
          .attr("stroke", colour).attr("stroke-width", 7).attr("stroke-opacity", 0.45);
      }
      svg.append("circle").attr("cx", x(seconds(candidate))).attr("cy", y).attr("r", 5).attr("stroke", colour).attr("stroke-width", 2)
        .attr("fill", candidate.measured && candidate.measured.median ? colour : "none")
        .append("title").text(`${sluice.time(seconds(candidate))}, ${candidate.evidence}`);
    });
    return make("figure", {}, svg.node(), make("figcaption", { class: "note" }, "Time of one call by itself. Filled: measured, with the 95 % confidence interval of its median. Empty: predicted only. Bold: chosen."));
  };

  const candidateTable = (op) => {
    const main = op.candidates.filter((candidate) => !isRefused(candidate));
    const order = { chosen: 0, possible: 1, wrong: 2 };
    main.sort((a, b) => order[state(op, a)[0]] - order[state(op, b)[0]] || (seconds(a) || 0) - (seconds(b) || 0));
    const head = ["kernel", "state", "predicted", "measured by itself", "over chosen", "error over bound"];
    return [
      make("div", { class: "scroll" }, make("table", { class: "candidates" },
        make("thead", {}, make("tr", {}, head.map((text) => make("th", { scope: "col" }, text)))),
        make("tbody", {}, main.flatMap((candidate) => candidateRow(op, candidate))))),
      ...refusals(op),
      intervals(op, main),
    ];
  };

  const workText = (work) =>
    `${sluice.rate(work.flops, "FLOP")}, ${sluice.bytes(Math.round(work.bytes))} read and written`
    + (work.extra_bytes ? `, ${sluice.bytes(Math.round(work.extra_bytes))} more by further passes` : "");

  sluice.opDetails = (op) => {
    const head = [
      row("Kernel", make("b", {}, op.kernelName), ` at ${op.place}, ${op.dtype}, layout ${op.layout}`),
      row("Chosen because", sluice.sentence(op.reason)),
      op.seconds === null ? [] : row("Time in a run", make("b", {}, sluice.time(op.seconds)), ` (${sluice.opInterval(op.measured)}), ${sluice.percent(op.share)} of all ops`),
    ];
    const facts = [
      row("Predicted", `${sluice.predicted(op)}, ${op.evidence}`),
      row("Margin", op.margin === undefined ? "there is no other kernel for it" : `the best other kernel would take ${sluice.times(op.margin)} the predicted time`),
      row("Work", workText(op.work)),
      op.covers.length > 1 ? row("Does the work of", `ops ${op.covers.join(", ")} of the program`) : [],
      op.covers.length === 0 ? row("Origin", "put in by Sluice, for a layout or a shape") : row("Part", op.purpose),
      op.line ? row("Your line", op.line) : [],
      op.scratch_bytes ? row("Scratch memory", sluice.bytes(op.scratch_bytes)) : [],
      op.transfer_bytes ? row("Bytes to move", Object.entries(op.transfer_bytes).map(([place, bytes]) => `${sluice.bytes(bytes)} for a kernel at ${place}`).join(", ")) : [],
      row("Inputs", list(op.inputs, op.inputs_left_out)),
      row("Outputs", list(op.outputs, op.outputs_left_out)),
    ];
    const hints = sluice.report.lists[op.candidate_list].hints;
    if (hints.length) facts.push(row("Hints", sluice.sentence(hints.join("; "))));
    const notes = sluice.report.lists[op.candidate_list].notes;
    if (notes.length) facts.push(row("Notes", sluice.sentence(notes.join("; "))));
    return [
      make("h3", {}, `${op.number} ${op.op}`),
      make("dl", { class: "facts" }, head.flat()),
      make("h4", {}, `All ${op.candidates.length} candidates`),
      ...candidateTable(op).filter((part) => part !== null),
      make("h4", {}, "The op"),
      make("dl", { class: "facts" }, facts.flat()),
    ];
  };

  const inside = (node) =>
    sluice.report.ops.filter((op) => op.position >= node.first && op.position < node.first + node.count);

  sluice.stretchDetails = (node) => [
    make("h3", {}, `${sluice.count(node.count, "op")}, from place ${node.first} on`),
    make("p", { class: "note" }, "This plan has more ops than fit into a picture, so that each box is a stretch of ops that run one after another."),
    make("dl", { class: "facts" },
      node.seconds === null ? [] : row("Time in a run", `${sluice.time(node.seconds)}, ${sluice.percent(node.seconds / sluice.opSeconds)} of all ops`),
      row("Predicted", sluice.time(node.predicted_seconds)),
      row("Smallest margin", sluice.times(node.margin))),
    make("table", {},
      make("thead", {}, make("tr", {}, ["op", "kernel", "ops", "time"].map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, node.groups.map((group) => make("tr", {},
        make("td", {}, group.op), make("td", {}, sluice.kernel(group)),
        make("td", { class: "n" }, String(group.count)), make("td", { class: "n" }, sluice.time(group.seconds)))))),
    make("h4", {}, "Its ops that take the most time"),
    inside(node).length ? null : make("p", { class: "note" }, "None of them is among those that this page has; the JSON has them."),
    make("div", {}, inside(node).sort((a, b) => b.seconds - a.seconds).slice(0, 20)
      .map((op) => make("button", { type: "button", class: "link", onclick: () => sluice.choose(op) }, `${op.number} ${op.op} ${sluice.time(op.seconds)}`))),
  ];

  sluice.onChoose.push((what, scroll) => {
    const panel = document.getElementById("details");
    if (what.fed) {
      panel.replaceChildren(make("h3", {}, what.fed.var), make("p", {}, `Fed: ${sluice.shape(what.fed)} at ${what.fed.place}`));
    } else {
      const parts = what.candidates ? sluice.opDetails(what) : sluice.stretchDetails(what);
      panel.replaceChildren(...parts.filter((part) => part !== null));
    }
    if (scroll) {
      document.getElementById("graph").scrollIntoView();
      panel.focus({ preventScroll: true });
    }
  });
}
