"use strict";
// Numbers with units, and elements of the page.
const sluice = {};

sluice.number = (value, digits = 3) => {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return Number(value.toPrecision(digits)).toFixed(Math.max(0, digits - 1 - size));
};

// "1.00 ms" as "1 ms", for axes.
sluice.plain = (text) => text.replace(/\.0+(?= |$)/, "").replace(/(\.\d*?)0+(?= |$)/, "$1");

const scaled = (value, units, digits = 3) => {
  let at = 0;
  while (at + 1 < units.length && Math.abs(value) >= 999.5 * units[at][1]) {
    at += 1;
  }
  return `${sluice.number(value / units[at][1], digits)} ${units[at][0]}`;
};

sluice.time = (seconds, digits) =>
  seconds === null || seconds === undefined
    ? "-"
    : seconds > 0 && seconds < 1e-6
      ? "< 1 \u00b5s"
      : sluice.anyTime(seconds, digits);

// Also below what a clock resolves, for axes.
sluice.anyTime = (seconds, digits) =>
  seconds === 0 ? "0" : scaled(seconds, [["\u00b5s", 1e-6], ["ms", 1e-3], ["s", 1]], digits);

// Sluice's sentences, in the units of this page.
sluice.sentence = (text) => text.replace(/(\d) us\b/g, "$1 \u00b5s");

// The predicted time of an op or candidate, with its significant digits.
sluice.predicted = (of) => sluice.time(of.predicted_seconds, of.evidence === "estimated" ? 2 : 3);

sluice.bytes = (bytes) =>
  bytes < 1000
    ? `${bytes} B`
    : scaled(bytes, [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]]);

sluice.rate = (value, unit) =>
  scaled(value, [[unit, 1], [`k${unit}`, 1e3], [`M${unit}`, 1e6], [`G${unit}`, 1e9], [`T${unit}`, 1e12]]);

sluice.percent = (share) => {
  if (share === null) return "-";
  const percent = 100 * share;
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return `${percent < 10 ? percent.toFixed(1) : percent.toFixed(0)} %`;
};

sluice.times = (ratio) =>
  ratio === null || ratio === undefined ? "-" : `${sluice.number(ratio)}\u00d7`;

// Few runs have no interval.
sluice.interval = (time, rounds, noun = "run") => {
  if (rounds < sluice.report.least_turns) return `${sluice.count(rounds, noun)} only`;
  const [low, high] = [sluice.time(time.low), sluice.time(time.high)];
  return low === high ? low : `${low} to ${high}`;
};

sluice.opInterval = (time) => sluice.interval(time, sluice.report.times.profiled_runs);

sluice.shape = (value) => `${value.dtype} [${value.shape.join(", ")}]`;

sluice.count = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

// An element that contains text or other elements.
sluice.make = (tag, attributes = {}, ...inside) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value);
  }
  element.append(...inside.flat().filter((part) => part !== null));
  return element;
};

sluice.fill = (id, ...inside) => document.getElementById(id).replaceChildren(...inside.flat());

// A text beside the mouse, and a title for users without a mouse.
sluice.tip = (lines) => (event) => {
  const tip = document.getElementById("tip");
  tip.replaceChildren(...lines().map((line) => sluice.make("div", {}, line)));
  tip.hidden = false;
  const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const y = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8);
  tip.style.left = `${Math.max(x, 4)}px`;
  tip.style.top = `${Math.max(y, 4)}px`;
};
sluice.hideTip = () => {
  document.getElementById("tip").hidden = true;
};
