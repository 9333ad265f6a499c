// Tables that can be sorted by each column.
{
  const { make } = sluice;

  // Columns are [title, value of a row, text of a row, tooltip]. Numbers are
  // sorted by value, the largest first.
  sluice.table = (columns, rows, { choose = null, sort = -1, down = true } = {}) => {
    let column = sort, falling = down;
    const body = make("tbody");
    const heads = columns.map(([title, , , tip], i) => make("th", { scope: "col", title: tip || null },
      make("button", { type: "button", onclick: () => {
        falling = column === i ? !falling : typeof (rows.length ? columns[i][1](rows[0]) : 0) !== "string";
        column = i;
        show();
      } }, title)));
    const line = (row) => make("tr", {}, columns.map(([, value, text], i) => {
      const shown = text ? text(row) : String(value(row));
      if (i === 0 && choose) {
        return make("th", { scope: "row" }, make("button", { type: "button", class: "link", onclick: () => choose(row) }, shown));
      }
      const kind = typeof value(row) !== "string" ? "n" : shown.length > 18 ? "long" : null;
      return make("td", { class: kind }, shown);
    }));
    const compare = (a, b) => {
      const [x, y] = [columns[column][1](a), columns[column][1](b)];
      const order = typeof x === "string" ? x.localeCompare(y) : (x ?? -Infinity) - (y ?? -Infinity);
      return falling ? -order : order;
    };
    let filter = () => true;
    const show = () => {
      const shown = rows.filter(filter);
      if (column >= 0) shown.sort(compare);
      body.replaceChildren(...shown.map(line));
      heads.forEach((head, i) => head.setAttribute("aria-sort", i !== column ? "none" : falling ? "descending" : "ascending"));
      return shown.length;
    };
    show();
    const table = make("table", { class: "data" }, make("thead", {}, make("tr", {}, heads)), body);
    return { table, setFilter: (accepts) => { filter = accepts; return show(); } };
  };

  sluice.showOps = () => {
    const { ops, ops_left_out: left } = sluice.report;
    const columns = [
      ["op", (op) => op.index, (op) => `${op.number} ${op.op}`, "its index in the program, or a later one where Sluice put it in"],
      ["time", (op) => op.seconds, (op) => sluice.time(op.seconds), "median in runs of this plan; the op's details have its 95 % interval"],
      ["share", (op) => op.share, (op) => sluice.percent(op.share), "of the time of all ops"],
      ["predicted", (op) => op.predicted_seconds, (op) => sluice.predicted(op), "what the choice was made by"],
      ["by", (op) => op.evidence, (op) => ({ "measured nearby": "nearby" })[op.evidence] || op.evidence, "where the prediction comes from"],
      ["over predicted", (op) => op.ratio, (op) => sluice.times(op.ratio), "measured time over predicted time"],
      ["margin", (op) => op.margin ?? null, (op) => sluice.times(op.margin), "how many times as long the best other kernel would take"],
      ["kernel", (op) => op.kernelName],
      ...(new Set(ops.map((op) => op.place)).size > 1 ? [["place", (op) => op.place]] : []),
      ["layout", (op) => op.layout],
      ...(ops.some((op) => op.layer) ? [["layer", (op) => op.layer ? op.layer.join(" ") : "", null, "whose call made the op; a click on this heading puts its ops together"]] : []),
      ["part", (op) => op.part],
      ["output", (op) => sluice.shape(op.outputs[0]) + (op.outputs.length > 1 ? ` +${op.outputs.length - 1}` : "")],
      ["your line", (op) => op.line.split("/").pop(), null, "the line of your program that made the op"],
    ];
    const { table, setFilter } = sluice.table(columns, ops, { choose: (op) => sluice.choose(op, true), sort: 1 });
    sluice.fill("ops-table", table);
    sluice.fill("ops-note", left === 0
      ? "A click on a heading sorts, one on an op shows its candidates."
      : `The ${ops.length.toLocaleString("en")} ops that take the most time; ${sluice.count(left, "other op")} of this plan ${left === 1 ? "is" : "are"} in the totals and in the JSON only. A click on a heading sorts, one on an op shows its candidates.`);
    const text = (op) => [op.number, op.op, op.kernelName, op.place, op.layout, op.dtype, op.part, op.evidence, op.line, ...(op.layer ?? []),
      ...op.outputs.map((v) => v.var), ...op.inputs.map((v) => v.var)].join(" ").toLowerCase();
    document.getElementById("filter").addEventListener("input", (event) => {
      const words = event.target.value.toLowerCase().split(/\s+/).filter((word) => word);
      const count = setFilter((op) => words.every((word) => text(op).includes(word)));
      sluice.fill("filter-count", words.length ? sluice.count(count, "op") : "");
    });
  };

  sluice.showTransfers = () => {
    const { transfers, transfers_left_out: left, ops } = sluice.report;
    const needs = (t) => (t.op_index < 0 ? "fetch" : `op ${t.op_index}`);
    const moved = sluice.table([
      ["value", (t) => t.var], ["from", (t) => t.from], ["to", (t) => t.to],
      ["bytes per run", (t) => t.bytes, (t) => sluice.bytes(t.bytes)], ["for", needs],
    ], transfers, { sort: 3 });
    sluice.fill("transfers-table", transfers.length ? make("div", { class: "panel scroll" }, moved.table) : make("p", { class: "note" }, "No value moves between places."),
      left ? make("p", { class: "note" }, `${sluice.count(left, "smaller transfer")} left out.`) : "");
    const put = ops.filter((op) => op.covers.length === 0);
    const conversions = sluice.table([
      ["op", (op) => op.index, (op) => `${op.number} ${op.op}`],
      ["time", (op) => op.seconds, (op) => sluice.time(op.seconds)],
      ["share", (op) => op.share, (op) => sluice.percent(op.share)],
      ["input", (op) => op.inputs.map(sluice.shape).join(", ")],
      ["output", (op) => sluice.outputText(op)],
      ["kernel", (op) => op.kernelName],
    ], put, { choose: (op) => sluice.choose(op, true), sort: 1 });
    sluice.fill("conversions-table", put.length ? make("div", { class: "panel scroll" }, conversions.table) : make("p", { class: "note" }, "None."));
  };
}
