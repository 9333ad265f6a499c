// The report, and data derived from it.
sluice.report = JSON.parse(document.getElementById("data").textContent);

// "plain" of an own kernel, "onednn/direct" of others, as explain() has them.
sluice.kernel = ({ library, variant }) => {
  const name = library.toLowerCase();
  return library === "PLAIN" || name === variant ? variant : `${name}/${variant}`;
};

{
  const report = sluice.report;
  // Times of ops that contradict the run are not shown anywhere.
  if (report.why_no_times) {
    for (const part of [...report.ops.map((op) => op.measured), ...report.graph.nodes, ...report.groups]) {
      for (const name of ["median", "low", "high", "seconds"]) if (name in part) part[name] = null;
    }
  }
  sluice.opSeconds = report.summary.op_seconds || 1;
  sluice.byPosition = new Map(report.ops.map((op) => [op.position, op]));
  sluice.byIndex = new Map(report.ops.map((op) => [op.index, op]));
  for (const op of report.ops) {
    op.seconds = op.measured.median;
    op.share = op.seconds === null ? null : op.seconds / sluice.opSeconds;
    op.ratio = op.predicted_seconds > 0 && op.seconds > 0 ? op.seconds / op.predicted_seconds : null;
    op.kernelName = sluice.kernel(op);
    op.candidates = report.lists[op.candidate_list].candidates;
    op.signature = report.lists[op.candidate_list].signature;
    op.work = op.candidates[op.chosen].work;
    op.part = op.covers.length === 0 ? "put in by Sluice" : op.purpose;
  }
  sluice.changeByIndex = new Map();
  for (const row of report.changes ? report.changes.ops : []) {
    if (row.new) sluice.changeByIndex.set(row.new.index, row);
  }
}

sluice.outputText = (op) => op.outputs.map(sluice.shape).join(", ");

// Calls each function with the chosen op (or node of several ops).
sluice.onChoose = [];
sluice.choose = (what, scroll = false) => {
  for (const call of sluice.onChoose) call(what, scroll);
};
