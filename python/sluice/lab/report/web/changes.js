// Shows the changes since another report.
{
  const { make } = sluice;
  const kernel = (side) => (side ? sluice.kernel(side) : "");

  const head = (report, name) => make("li", {}, make("b", {}, name), ` ${report.name}, ${report.created.replace("T", " ").replace("Z", " UTC")}: ${sluice.sentence(report.run_text)} per run`);

  sluice.showChanges = () => {
    const changes = sluice.report.changes;
    if (!changes) return;
    document.getElementById("changes").hidden = false;
    document.getElementById("changes-link").hidden = false;
    const timed = !changes.why_no_times;
    const columns = [
      ["op", (row) => (row.new || row.old).index, (row) => `${(row.new || row.old).number} ${(row.new || row.old).op}`],
      ["what changed", (row) => row.changes.join(", ")],
      ["kernel before", (row) => kernel(row.old)],
      ["kernel now", (row) => kernel(row.new)],
      ["layout before", (row) => (row.old ? row.old.layout : "")],
      ["layout now", (row) => (row.new ? row.new.layout : "")],
      ...(timed ? [["time before", (row) => (row.old ? row.old.measured.median : null), (row) => (row.old ? sluice.time(row.old.measured.median) : "-")],
      ["time now", (row) => (row.new ? row.new.measured.median : null), (row) => (row.new ? sluice.time(row.new.measured.median) : "-")],
      ["change", (row) => row.seconds, (row) => `${row.seconds > 0 ? "+" : row.seconds < 0 ? "\u2212" : ""}${sluice.time(Math.abs(row.seconds))}`]] : []),
    ];
    const choose = (row) => {
      const op = row.new && sluice.byIndex.get(row.new.index);
      if (op) sluice.choose(op, true);
    };
    const { table } = sluice.table(columns, changes.ops, { choose });
    sluice.fill("changes-body",
      make("ul", {}, head(changes.old, "Before:"), head(changes.new, "Now:")),
      make("p", { class: "verdict" }, `A run now, and before: ${changes.verdict}.${timed ? "" : ` ${sluice.sentence(changes.why_no_times)}.`}`),
      changes.comparable ? "" : make("p", { class: "warning" }, "Machine or number of threads differ: times cannot be compared."),
      make("p", { class: "note" }, `${sluice.count(changes.ops.length + changes.left_out, "op")} changed, ${sluice.count(changes.same, "op")} did not.${changes.left_out ? ` The ${changes.ops.length} with the largest difference:` : ""}`),
      changes.ops.length ? make("div", { class: "panel scroll tall" }, table) : "");
  };
}
