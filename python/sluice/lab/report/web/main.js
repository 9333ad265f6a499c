// Assembles the page.
{
  const { make, report } = sluice;
  const { summary, machine } = report;
  const run = report.times.run;

  const fed = report.feeds.slice(0, 4).map((feed) => `${feed.var} ${sluice.shape(feed)}`);
  if (report.feeds.length > 4) fed.push(`and ${report.feeds.length - 4} more`);
  const batches = new Set(report.feeds.filter((feed) => feed.shape.length).map((feed) => feed.shape[0]));
  if (batches.size === 1) fed.unshift(`batch ${[...batches][0]}`);
  sluice.fill("feeds", fed.length ? `Fed: ${fed.join(", ")}` : "Nothing is fed");
  sluice.fill("subtitle", `${machine.machine.split("), ")[0].replace(" (family", ", family")} \u00b7 ${sluice.count(report.threads, "thread")} \u00b7 at ${report.place} \u00b7 ${report.created.replace("T", " ").replace("Z", " UTC")} \u00b7 Sluice ${report.sluice}`);

  const card = (title, value, detail, tip) => make("div", { class: "card", title: tip || null }, make("span", { class: "label" }, title), make("b", {}, value), make("span", { class: "detail" }, detail));
  const ratio = run.median > 0 ? summary.predicted_seconds / run.median : null;
  const by = summary.decided_by || summary.evidence;  // older reports lack the first
  const measured = by.measured || 0;
  const others = [by.hint ? `${by.hint.toLocaleString("en")} by hints` : "", measured + (by.hint || 0) < summary.ops ? "the others by estimates" : ""].filter(Boolean).join(", ");
  sluice.fill("cards",
    card("one run", sluice.time(run.median), run.rounds < report.least_turns ? sluice.interval(run, run.rounds) : `95 % interval ${sluice.interval(run)}, ${sluice.count(run.rounds, "run")}`, "Median of runs of the plan as Executor.run runs it"),
    card("predicted", sluice.time(summary.predicted_seconds), ratio === null ? "" : `${sluice.times(ratio)} the measured run`, "The sum of what the chosen kernels were predicted to take"),
    card("ops", summary.ops.toLocaleString("en"), Object.entries(summary.libraries).sort((a, b) => b[1] - a[1]).map(([name, count]) => `${count.toLocaleString("en")} ${name.toLowerCase()}`).join(", "), "How many ops run, and by which library's kernels"),
    card("chosen by measurement", sluice.percent(summary.ops ? measured / summary.ops : 0), `${measured.toLocaleString("en")} of ${sluice.count(summary.ops, "op")}${others && `; ${others}`}`, "Ops whose kernel was measured for exactly these shapes, on this machine"),
    card("working memory", sluice.bytes(summary.arena_bytes), report.memory.length > 1 ? `one block at each of ${report.memory.length} places for intermediate values` : "one block for all intermediate values"),
    card("moved between places", sluice.bytes(summary.transfer_bytes), "in each run"));
  const faulty = report.fault ? sluice.byIndex.get(report.fault.op) : undefined;
  if (report.fault) {
    document.getElementById("fault").hidden = false;
    sluice.fill("fault", sluice.sentence(report.fault.lines.join("\n")), faulty ? ", here in " : "",
      faulty ? make("button", { type: "button", class: "link", onclick: () => sluice.choose(faulty, true) }, `${faulty.number} ${faulty.op}`) : "");
  }
  const words = report.wrong_kernels.map((text) => `${text}.`);
  if (report.why_no_times) {
    words.push(`${sluice.sentence(report.why_no_times)}.`);
    for (const id of ["strip", "bars"]) document.getElementById(id).parentElement.hidden = true;
    for (const id of ["prediction", "roofline"]) document.getElementById(id).hidden = true;
  } else if (summary.ops > 0) {
    words.push(`Ops take ${sluice.time(summary.op_seconds)} of it.`);
    const types = d3.nest().key((group) => group.op).entries(report.groups).map(({ key, values }) => ({ key, values, seconds: d3.sum(values, (group) => group.seconds) }));
    const most = types.reduce((a, b) => (b.seconds > a.seconds ? b : a));
    const kernels = [...new Set(most.values.map((group) => sluice.kernel(group)))];
    words.push(`${most.key} takes the most time: ${sluice.percent(most.seconds / sluice.opSeconds)} (${kernels.slice(0, 3).join(", ")}).`);
    const outside = run.median - summary.op_seconds;
    if (outside > 0.05 * run.median) words.push(`${sluice.time(outside)} of a run are outside of ops.`);
  }
  if (report.times.drifted) words.push("The clock rate changed, or other programs took part of the machine, while this was measured.");
  if (run.spread > 0.25) words.push(`Other programs disturbed this measurement: half of the runs differ by ${sluice.percent(run.spread)} of the median or more.`);
  sluice.fill("verdict", words.join(" "));

  sluice.showBars();
  sluice.showOps();
  // Text keeps its size, so charts are drawn again for another width.
  const charts = () => {
    sluice.showStrip();
    sluice.showPrediction();
    sluice.showRoofline();
    sluice.showMemory();
    sluice.paintGraph();
  };
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) charts();
    width = window.innerWidth;
  });
  charts();
  sluice.showTransfers();
  sluice.showChanges();

  if (report.notes.length) {
    document.getElementById("remarks").hidden = false;
    sluice.fill("remarks-list", report.notes.map((note) => make("li", {}, sluice.sentence(note))), report.notes_left_out ? make("li", {}, `and ${report.notes_left_out} more`) : "");
  }

  const terms = [
    ["Op, kernel, candidate", "An op is one step of the program. A kernel is code that computes an op: in some library, for some dtype, layout and place. All kernels for an op are its candidates; Sluice chooses one when it prepares the plan, never while it runs."],
    ["Time in a run", "The median over several runs of this plan with a clock around each op; devices are waited for after each. The 95 % interval contains the true median with that confidence."],
    ["Time by itself", "The median of one call of a kernel on the op's own inputs, in a race in which all its candidates take turns. Caches are warm, so that a kernel may take less time by itself than in a run."],
    ["Predicted time", "What the choice is made by. Measured: the time by itself, for exactly this signature on this machine. Measured nearby: an estimate, corrected by measurements of other sizes. Estimated: from the kernel's work and the machine's figures."],
    ["Margin", "The predicted time of the best other candidate over that of the chosen one. Below 1 where a hint, or a layout or place of the whole graph, matters more than the op itself."],
    ["Refused, wrong results", "A refused kernel cannot compute this op, for the reason that is given. A kernel gave wrong results if it differed from the op's reference, lost a NaN, wrote out of bounds, or gave other bits when it ran again; it is never chosen for that signature."],
    ["Error", "The largest error of a kernel's results against the op's plain kernel in float64, over the bound that rounding explains. Up to 1 is correct; ? was not checked."],
    ["Layout", "The order of an image's dimensions in memory: NCHW (channel by channel) or NHWC (pixel by pixel). Any: it does not matter to the op."],
    ["Roofline", "What the machine can do at most: arithmetic, and bytes from each cache or the memory. Operations and bytes are what the kernel's estimate counts, not what the CPU counts."],
  ];
  sluice.fill("glossary", terms.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));

  const figure = (value, unit) => (value ? sluice.rate(value, unit) : "-");
  sluice.fill("machine-table", make("div", { class: "panel scroll" }, make("table", {}, make("tbody", {}, [
    ["processor", machine.machine],
    ["threads", String(machine.threads)],
    ["arithmetic of one thread", `float32 ${figure(machine.float32, "FLOP/s")}, float64 ${figure(machine.float64, "FLOP/s")}, int8 ${figure(machine.int8, "FLOP/s")}, bfloat16 ${figure(machine.bfloat16, "FLOP/s")}`],
    ["reading with all threads", ["l1", "l2", "l3", "memory"].map((level) => `${level === "memory" ? "memory" : level.toUpperCase()} ${figure(machine[`${level}_all_threads`], "B/s")}`).join(", ")],
    ["figures", machine.date ? `measured ${machine.date}` : "derived from the CPU's features"],
    ["SLUICE_TUNE", report.tuning],
  ].map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)))))));
  sluice.fill("footer", `Written by Sluice ${report.sluice}. This page loads nothing from elsewhere; its data is the JSON in the element "data".`);

  const belowHeader = () => {
    document.documentElement.style.scrollPaddingTop = `${document.querySelector("header").offsetHeight + 12}px`;
  };
  window.addEventListener("resize", belowHeader);
  belowHeader();

  // Dark or light: the system's setting until the user chooses.
  const button = document.getElementById("theme");
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => sluice.fill("theme", dark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    name();
  });
  name();

  const first = faulty || report.ops.reduce((most, op) => (most === null || op.seconds > most.seconds ? op : most), null);
  if (first !== null) {
    sluice.choose(first);
    sluice.graphTop();
    window.scrollTo(0, 0);
  } else {
    sluice.fill("details", make("p", { class: "note" }, "This plan has no ops."));
  }
}
