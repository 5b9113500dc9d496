"use strict";
// Draws each chart of the page's data with uPlot, again when width or colour scheme change.
// Names and numbers stand in the page already; here they only follow the pointer.
const charts = JSON.parse(document.getElementById("data").textContent);
const rounds = charts.flatMap((chart) => chart.x);
const first = Math.min(...rounds), last = Math.max(...rounds);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const plots = [];

function show(value, percent) {
  if (value == null) return "\u2013";
  if (percent) return (100 * value).toFixed(1) + "\u202f%";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return size && size < 0.1 ? Number(value.toPrecision(3)).toString() : value.toFixed(size >= 10 ? 1 : 2);
}

// A band through the intervals, and a whisker at each point; below the curves.
function intervals(chart, colours) {
  return (plot) => {
    const context = plot.ctx;
    chart.series.forEach((series, index) => {
      const known = [...chart.x.keys()].filter((at) => series.low[at] != null && series.high[at] != null);
      const across = (at) => plot.valToPos(chart.x[at], "x", true);
      const up = (value) => plot.valToPos(value, "y", true);
      context.save();
      context.fillStyle = context.strokeStyle = colours[index];
      context.globalAlpha = 0.1;
      context.beginPath();
      known.forEach((at) => context.lineTo(across(at), up(series.high[at])));
      known.reverse().forEach((at) => context.lineTo(across(at), up(series.low[at])));
      context.fill();
      context.globalAlpha = 0.55;
      context.lineWidth = devicePixelRatio;
      context.beginPath();
      known.forEach((at) => {
        context.moveTo(across(at), up(series.low[at]));
        context.lineTo(across(at), up(series.high[at]));
      });
      context.stroke();
      context.restore();
    });
  };
}

// The legend shows the values under the pointer, or the newest ones.
function follow(chart, figure) {
  const outputs = [...figure.querySelectorAll(".legend output")];
  const newest = outputs.map((output) => output.textContent);
  const place = figure.querySelector(".legend .at");
  return (plot) => {
    const at = plot.cursor.idx;
    place.hidden = at == null;
    place.textContent = at == null ? "" : "round " + chart.x[at];
    outputs.forEach((output, index) => {
      output.textContent = at == null ? newest[index] : show(chart.series[index].y[at], chart.percent);
    });
  };
}

function range(chart) {
  if (chart.full) return [0, 1];
  return (_, low, high) => {
    if (low == null) return [0, 1];
    const bottom = Math.min(low, 0), top = Math.max(high, 0);
    const room = 0.08 * (top - bottom || 1);
    return [bottom < 0 ? bottom - room : 0, top > 0 ? top + room : 0];
  };
}

function ticks(chart) {
  return (_, values) => values.map((value) =>
    chart.percent ? Number((100 * value).toPrecision(6)) + "\u202f%" : value.toLocaleString("en", { maximumFractionDigits: 6 }));
}

function make(element) {
  const chart = charts[Number(element.dataset.chart)];
  const figure = element.closest("figure");
  const colours = chart.series.map((_, index) => css("--s" + index));
  const dashed = [...figure.querySelectorAll(".legend line")].map((line) => line.getAttribute("stroke-dasharray"));
  const font = "12px system-ui, sans-serif";
  const axis = { stroke: css("--soft"), font, grid: { stroke: css("--line"), width: 1 }, ticks: { show: false } };
  const series = chart.series.map((curve, index) => ({
    stroke: colours[index],
    dash: (dashed[index] || "").split(" ").filter(Boolean).map(Number),
    width: 2,
    spanGaps: chart.points,
    points: { show: chart.points || chart.x.length < 3, size: 7, fill: colours[index] },
  }));
  const options = {
    width: Math.max(element.clientWidth, 200),
    height: 210,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, sync: { key: "rounds", setSeries: false, scales: ["x", null] } },
    scales: { x: { time: false, range: [first, last > first ? last : first + 1] }, y: { range: range(chart) } },
    axes: [
      { ...axis, size: 28, gap: 4, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] },
      { ...axis, size: 58, space: 34, values: ticks(chart) },
    ],
    series: [{}, ...series],
    hooks: { drawAxes: [intervals(chart, colours)], setCursor: [follow(chart, figure)] },
  };
  return new uPlot(options, [chart.x, ...chart.series.map((curve) => curve.y)], element);
}

function drawAll() {
  plots.splice(0).forEach((plot) => plot.destroy());
  document.querySelectorAll(".plot").forEach((element) => plots.push(make(element)));
}

let waiting;
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return; // a phone's bar coming and going
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(drawAll, 150);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
drawAll();
