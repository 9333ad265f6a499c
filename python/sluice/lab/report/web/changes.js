// Shows the changes since another report.
{
  const { make } = sluice;
  const kernel = (side) => (side ? `${side.library.toLowerCase()}/${side.variant}` : "");

  const head = (report, name) => make("li", {}, make("b", {}, name), ` ${report.name}, ${report.created.replace("T", " ").replace("Z", " UTC")}: ${sluice.time(report.run.median)} per run (${sluice.interval(report.run, report.run.rounds)})`);

  sluice.showChanges = () => {
    const changes = sluice.report.changes;
    if (!changes) return;
    document.getElementById("changes").hidden = false;
    document.getElementById("changes-link").hidden = false;
    // Noise only adds. If it is large, the shortest run is most reliable.
    const noisy = Math.max(changes.old.run.spread, changes.new.run.spread) > 0.25;
    const ratio = noisy ? changes.old.run.best / changes.new.run.best : changes.old.run.median / changes.new.run.median;
    const apart = changes.new.run.high < changes.old.run.low || changes.new.run.low > changes.old.run.high;
    const columns = [
      ["op", (row) => (row.new || row.old).index, (row) => `${(row.new || row.old).index} ${(row.new || row.old).op}`],
      ["what changed", (row) => row.changes.join(", ")],
      ["kernel before", (row) => kernel(row.old)],
      ["kernel now", (row) => kernel(row.new)],
      ["layout before", (row) => (row.old ? row.old.layout : "")],
      ["layout now", (row) => (row.new ? row.new.layout : "")],
      ["time before", (row) => (row.old ? row.old.measured.median : null), (row) => (row.old ? sluice.time(row.old.measured.median) : "-")],
      ["time now", (row) => (row.new ? row.new.measured.median : null), (row) => (row.new ? sluice.time(row.new.measured.median) : "-")],
      ["change", (row) => row.seconds, (row) => `${row.seconds > 0 ? "+" : row.seconds < 0 ? "\u2212" : ""}${sluice.time(Math.abs(row.seconds))}`],
    ];
    const choose = (row) => {
      const op = row.new && sluice.byIndex.get(row.new.index);
      if (op) sluice.choose(op, true);
    };
    const { table } = sluice.table(columns, changes.ops, { choose });
    sluice.fill("changes-body",
      make("ul", {}, head(changes.old, "Before:"), head(changes.new, "Now:")),
      make("p", { class: "verdict" },
        !apart && !noisy
          ? "The confidence intervals of both runs overlap: no difference is shown."
          : ratio > 1
            ? `A run is ${sluice.number(ratio)} times as fast as before.`
            : `A run takes ${sluice.number(1 / ratio)} times as long as before.`,
        noisy ? ` Other programs disturbed most runs, so that this is about the shortest of each: ${sluice.time(changes.old.run.best)} before, ${sluice.time(changes.new.run.best)} now.` : ""),
      changes.comparable ? "" : make("p", { class: "warning" }, "Machine or number of threads differ: times cannot be compared."),
      make("p", { class: "note" }, `${sluice.count(changes.ops.length + changes.left_out, "op")} changed, ${sluice.count(changes.same, "op")} did not.${changes.left_out ? ` The ${changes.ops.length} with the largest difference:` : ""}`),
      changes.ops.length ? make("div", { class: "panel scroll tall" }, table) : "");
  };
}
