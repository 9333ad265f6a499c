// Colours of ops, safe for colour-blind readers, and legends.
{
  const okabe = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#777777"];
  const none = "#9aa3ad";
  const report = sluice.report;
  const names = (get) => [...new Set(report.ops.map(get))].sort();
  const categories = (list) => {
    const colours = new Map(list.map((name, i) => [name, okabe[Math.min(i, okabe.length - 1)]]));
    return (name) => colours.get(name) || none;
  };

  sluice.libraries = names((op) => op.library);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  sluice.libraryColour = (name) => (report.colours[name] ? report.colours[name][Number(dark)] : none);
  sluice.evidences = ["measured", "measured nearby", "estimated"];
  sluice.evidenceColour = categories(sluice.evidences);
  const parts = ["forward", "backward", "optimize", "put in by Sluice"];
  const partColour = categories(parts);
  const changeNames = ["faster", "slower", "other kernel, same time", "new", "same"];
  const changeColour = (name) =>
    ({ faster: okabe[0], slower: okabe[5], "other kernel, same time": okabe[3], new: okabe[1] })[name] || none;

  const longest = d3.max(report.graph.nodes, (node) => node.seconds || 0) || 1e-9;
  const time = (seconds) => d3.interpolateViridis(1 - Math.sqrt(Math.min(1, seconds / longest)));
  // 1 is white. Factors of 4 and more are purple (at 0) or orange (at 1).
  const around = (above) => (value) => {
    const at = Math.max(-1, Math.min(1, Math.log(value) / Math.log(4)));
    return d3.interpolatePuOr(0.5 + (above === "orange" ? 0.42 : -0.42) * at);
  };
  const margin = around("purple");
  const ratio = around("orange");

  const steps = (values, colour, text) => values.map((value) => [colour(value), text(value)]);

  sluice.colourModes = {
    time: {
      title: "time of one run",
      of: (node) => time(node.seconds),
      legend: () => steps([0, 0.05, 0.25, 0.5, 1].map((s) => s * longest), time, (s) => (s === 0 ? "0" : sluice.time(s))),
      note: "Dark: much time. The median of runs of this plan, with a clock around each op.",
    },
    margin: {
      title: "margin to the next kernel",
      of: (node) => (node.margin === null || node.margin === undefined ? none : margin(node.margin)),
      legend: () => [...steps([0.25, 0.5, 1, 2, 4], margin, (v) => (v === 1 ? "1\u00d7 (tie)" : `${v}\u00d7`)), [none, "no other kernel"]],
      note: "How many times as long the best other kernel would take, as predicted. Above 1 (purple): a clear choice. Below 1 (orange): another kernel is faster by itself, and a hint, a layout or a place rules it out.",
    },
    ratio: {
      title: "measured over predicted time",
      of: (node) => (node.predicted_seconds > 0 && node.seconds > 0 ? ratio(node.seconds / node.predicted_seconds) : none),
      legend: () => steps([0.25, 0.5, 1, 2, 4], ratio, (v) => (v === 1 ? "1\u00d7 (as predicted)" : `${v}\u00d7`)),
      note: "Orange: slower than predicted. Purple: faster.",
    },
    library: {
      title: "library",
      of: (node, op) => (op ? sluice.libraryColour(op.library) : none),
      legend: () => steps(sluice.libraries, sluice.libraryColour, (name) => name.toLowerCase()),
      note: "The library whose kernel runs the op.",
    },
    part: {
      title: "part of the program",
      of: (node, op) => (op ? partColour(op.part) : none),
      legend: () => steps(parts.filter((p) => report.ops.some((op) => op.part === p)), partColour, (name) => name),
      note: "Ops that Sluice put in change layouts or shapes for the kernels that it chose.",
    },
  };
  sluice.changeKind = (row) => {
    if (!row) return "same";
    for (const kind of ["faster", "slower"]) if (row.changes.includes(kind)) return kind;
    return row.changes.includes("added") ? "new" : "other kernel, same time";
  };
  if (report.changes) {
    sluice.colourModes.change = {
      title: "change since the other report",
      of: (node, op) => (op ? changeColour(sluice.changeKind(sluice.changeByIndex.get(op.index))) : none),
      legend: () => steps(changeNames, changeColour, (name) => name),
      note: "Faster and slower: by more than 5 % and a thousandth of a run, and the confidence intervals of both medians do not overlap.",
    };
  }

  // Black or white, whichever is more readable on a colour.
  sluice.inkOn = (colour) => {
    const { r, g, b } = d3.rgb(colour);
    const linear = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18 ? "#000" : "#fff";
  };

  sluice.legend = (entries) =>
    entries.map(([colour, text]) =>
      sluice.make("span", { class: "entry" }, sluice.make("i", { style: `background:${colour}` }), text));
}
