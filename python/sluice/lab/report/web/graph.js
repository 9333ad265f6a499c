// The graph as Python laid it out.
{
  const graph = sluice.report.graph;
  const margin = 16;
  const box = document.getElementById("graph-box");
  const width = graph.width + 2 * margin, height = graph.height + 2 * margin;
  const svg = d3.select(box).append("svg").attr("viewBox", `${-margin} ${-margin} ${width} ${height}`);
  let zoom = 1;

  // Labels have 11 pixels at zoom 1, and no fewer.
  const setZoom = (value) => {
    zoom = Math.max(1, Math.min(3, value));
    svg.attr("width", width * zoom).attr("height", height * zoom);
    showView();
  };

  // The whole graph in small; a click or a drag moves the pane there.
  const small = Math.min(90 / width, (box.clientHeight - 16) / height);
  const map = d3.select("#minimap").append("svg").attr("width", width * small).attr("height", height * small)
    .attr("viewBox", `${-margin} ${-margin} ${width} ${height}`).attr("role", "img").attr("aria-label", "Minimap of the graph");
  const boxes = map.selectAll("rect").data(graph.nodes).enter().append("rect")
    .attr("x", (node) => node.x - node.width / 2).attr("y", (node) => node.y - graph.node_height / 2)
    .attr("width", (node) => node.width).attr("height", graph.node_height);
  const view = map.append("rect").attr("class", "view").attr("stroke-width", 2 / small);
  const showView = () => view.attr("x", box.scrollLeft / zoom - margin).attr("y", box.scrollTop / zoom - margin)
    .attr("width", Math.min(width, box.clientWidth / zoom)).attr("height", Math.min(height, box.clientHeight / zoom));
  box.addEventListener("scroll", showView);
  const moveTo = (event) => {
    const frame = map.node().getBoundingClientRect();
    box.scrollLeft = ((event.clientX - frame.left) / small) * zoom - box.clientWidth / 2;
    box.scrollTop = ((event.clientY - frame.top) / small) * zoom - box.clientHeight / 2;
  };
  map.on("pointerdown", () => moveTo(d3.event)).on("pointermove", () => {
    if (d3.event.buttons & 1) moveTo(d3.event);
  });

  const opOf = (node) => (node.count === 1 ? sluice.byPosition.get(node.first) : undefined);
  const target = (node) =>
    node.first === undefined ? { fed: sluice.report.feeds[Number(node.id.slice(1))] } : opOf(node) || node;

  svg.append("defs").append("marker").attr("id", "arrow").attr("viewBox", "0 0 8 8").attr("refX", 7).attr("refY", 4)
    .attr("markerUnits", "userSpaceOnUse").attr("markerWidth", 8).attr("markerHeight", 8).attr("orient", "auto").append("path").attr("class", "arrow").attr("d", "M0,0L8,4L0,8z");

  const edges = svg.append("g").selectAll("path").data(graph.edges).enter().append("path")
    .attr("class", (edge) => `edge${edge.moved ? " moved" : ""}${edge.far ? " far" : ""}`)
    .attr("stroke-width", (edge) => 1 + Math.min(3, Math.log10(1 + edge.bytes / 1e5)))
    .attr("marker-end", "url(#arrow)").attr("d", (edge) => edge.path);
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
    boxes.style("fill", (node) => (node.first === undefined ? null : mode.of(node, opOf(node))));
    sluice.fill("legend", sluice.legend(mode.legend()));
    sluice.fill("graph-note", mode.note, graph.edges.some((edge) => edge.far) ? " Long edges are faint; those of the chosen op are strong." : "");
    if (sluice.paintStrip) sluice.paintStrip(mode);
  };

  const select = document.getElementById("colour-mode");
  for (const [key, mode] of Object.entries(sluice.colourModes)) select.append(sluice.make("option", { value: key }, mode.title));
  select.addEventListener("change", paint);
  sluice.paintGraph = paint;

  sluice.onChoose.push((what) => {
    nodes.classed("selected", (node) => what === node
      || (what.fed !== undefined && node.first === undefined && target(node).fed === what.fed)
      || (what.position !== undefined && node.first <= what.position && what.position < node.first + node.count));
    boxes.classed("selected", (node) => svg.select(`#node-${node.id}`).classed("selected"));
    const selected = new Set(svg.selectAll(".selected").data().map((node) => node.id));
    edges.classed("near", (edge) => selected.has(edge.source) || selected.has(edge.target));
    const element = svg.select(".selected").node();
    if (element) element.scrollIntoView({ block: "nearest", inline: "nearest" });
  });

  document.getElementById("smaller").addEventListener("click", () => setZoom(zoom / 1.3));
  document.getElementById("larger").addEventListener("click", () => setZoom(zoom * 1.3));
  // The first node is in sight, in the middle if there is room.
  sluice.graphTop = () => {
    box.scrollTop = 0;
    const first = graph.nodes.reduce((top, node) => (top === null || node.y < top.y ? node : top), null);
    if (first) box.scrollLeft = (first.x + margin) * zoom - box.clientWidth / 2;
  };
  document.getElementById("top").addEventListener("click", sluice.graphTop);
  document.getElementById("slowest").addEventListener("click", () => {
    const slowest = sluice.report.ops.reduce((most, op) => (most === null || op.seconds > most.seconds ? op : most), null);
    if (slowest) sluice.choose(slowest);
  });
  setZoom(1);
  if (graph.nodes.length === 0) sluice.fill("graph-box", sluice.make("p", { class: "note" }, "This plan has no ops."));
}
