// The graph with Graphviz' layout.
{
  const graph = sluice.report.graph;
  const margin = 16;
  const box = document.getElementById("graph-box");
  const width = graph.width + 2 * margin, height = graph.height + 2 * margin;
  const svg = d3.select(box).append("svg").attr("viewBox", `${-margin} ${-margin} ${width} ${height}`);
  let zoom = 1;

  const setZoom = (value) => {
    zoom = Math.max(0.05, Math.min(3, value));
    svg.attr("width", width * zoom).attr("height", height * zoom);
  };
  const fitted = () => Math.min(1, (box.clientWidth - 4) / width, (box.clientHeight - 4) / height);

  const opOf = (node) => (node.count === 1 ? sluice.byPosition.get(node.first) : undefined);
  const target = (node) =>
    node.first === undefined ? { fed: sluice.report.feeds[Number(node.id.slice(1))] } : opOf(node) || node;

  svg.append("defs").append("marker").attr("id", "arrow").attr("viewBox", "0 0 8 8").attr("refX", 7).attr("refY", 4)
    .attr("markerUnits", "userSpaceOnUse").attr("markerWidth", 8).attr("markerHeight", 8).attr("orient", "auto").append("path").attr("class", "arrow").attr("d", "M0,0L8,4L0,8z");

  const nodeOf = new Map(graph.nodes.map((node) => [node.id, node]));
  const far = (edge) => edge.points === null;
  const edgePath = (edge) => {
    const path = d3.path();
    if (far(edge)) {
      const [from, to] = [nodeOf.get(edge.source), nodeOf.get(edge.target)];
      const middle = (from.y + to.y) / 2;
      path.moveTo(from.x, from.y + graph.node_height / 2);
      path.bezierCurveTo(from.x, middle, to.x, middle, to.x, to.y - graph.node_height / 2);
      return path.toString();
    }
    const { points } = edge;
    path.moveTo(...points[0]);
    for (let i = 1; i + 2 < points.length; i += 3) path.bezierCurveTo(...points[i], ...points[i + 1], ...points[i + 2]);
    return path.toString();
  };
  const edges = svg.append("g").selectAll("path").data(graph.edges).enter().append("path")
    .attr("class", (edge) => `edge${edge.moved ? " moved" : ""}${far(edge) ? " far" : ""}`)
    .attr("stroke-width", (edge) => 1 + Math.min(3, Math.log10(1 + edge.bytes / 1e5)))
    .attr("marker-end", "url(#arrow)").attr("d", edgePath);
  edges.append("title").text((edge) => `${sluice.count(edge.values, "value")}, ${sluice.bytes(edge.bytes)}${edge.moved ? `, of which ${sluice.bytes(edge.moved)} move to another place` : ""}`);

  const nodes = svg.append("g").selectAll("g").data(graph.nodes).enter().append("g")
    .attr("class", (node) => (node.first === undefined ? "node fed" : "node")).attr("id", (node) => `node-${node.id}`)
    .attr("transform", (node) => `translate(${node.x},${node.y})`).attr("tabindex", 0).attr("role", "button")
    .attr("aria-label", (node) => `${node.label.join(", ")}${node.seconds === undefined ? "" : `, ${sluice.time(node.seconds)}`}`)
    .on("click", (node) => sluice.choose(target(node)))
    .on("keydown", (node) => {
      if (d3.event.key !== "Enter" && d3.event.key !== " ") return;
      d3.event.preventDefault();
      sluice.choose(target(node));
    })
    .on("mousemove", (node) => sluice.tip(() => [node.label.join("  "), ...(node.seconds === undefined ? [] : [
      `${sluice.time(node.seconds)} in a run, ${sluice.percent(node.seconds / sluice.opSeconds)}`,
      `predicted ${sluice.time(node.predicted_seconds)}`])])(d3.event))
    .on("mouseleave", sluice.hideTip);
  const h = graph.node_height;
  nodes.append("rect").attr("x", (node) => -node.width / 2).attr("y", -h / 2).attr("width", (node) => node.width).attr("height", h)
    .attr("rx", (node) => (node.first === undefined ? h / 2 : 5));
  nodes.append("text").attr("class", "name").attr("y", -3).text((node) => node.label[0]);
  nodes.append("text").attr("class", "kernel").attr("y", 12).text((node) => node.label[1]);

  const paint = () => {
    const mode = sluice.colourModes[document.getElementById("colour-mode").value];
    nodes.each(function (node) {
      if (node.first === undefined) return;
      const colour = mode.of(node, opOf(node));
      d3.select(this).select("rect").attr("fill", colour);
      d3.select(this).selectAll("text").style("fill", sluice.inkOn(colour));
    });
    sluice.fill("legend", sluice.legend(mode.legend()));
    sluice.fill("graph-note", mode.note, graph.edges.some(far) ? " Long edges are faint; those of the chosen op are strong." : "");
    if (sluice.paintStrip) sluice.paintStrip(mode);
  };

  const select = document.getElementById("colour-mode");
  for (const [key, mode] of Object.entries(sluice.colourModes)) select.append(sluice.make("option", { value: key }, mode.title));
  if (sluice.report.changes) select.value = "change";
  select.addEventListener("change", paint);
  sluice.paintGraph = paint;

  sluice.onChoose.push((what) => {
    nodes.classed("selected", (node) => what === node
      || (what.fed !== undefined && node.first === undefined && target(node).fed === what.fed)
      || (what.position !== undefined && node.first <= what.position && what.position < node.first + node.count));
    const selected = new Set(svg.selectAll(".selected").data().map((node) => node.id));
    edges.classed("near", (edge) => selected.has(edge.source) || selected.has(edge.target));
    const element = svg.select(".selected").node();
    if (element) element.scrollIntoView({ block: "nearest", inline: "nearest" });
  });

  document.getElementById("smaller").addEventListener("click", () => setZoom(zoom / 1.3));
  document.getElementById("larger").addEventListener("click", () => setZoom(zoom * 1.3));
  document.getElementById("fit").addEventListener("click", () => setZoom(fitted()));
  setZoom(Math.min(1, Math.max(0.6, (box.clientWidth - 4) / width)));
  box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
  if (graph.nodes.length === 0) sluice.fill("graph-box", sluice.make("p", { class: "note" }, "This plan has no ops."));
}
