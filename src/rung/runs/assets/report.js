"use strict";
// Draws each chart of the page's data with uPlot, redrawn when width or colour scheme change.
const charts = JSON.parse(document.getElementById("data").textContent);
// Okabe and Ito's palette, made for colour-blind readers; dashes tell curves apart as well.
const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [1, 4]];
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function show(value, percent) {
  if (value == null) return "-";
  if (percent) return (100 * value).toFixed(1) + " %";
  const size = Math.abs(value);
  return size >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

function whiskers(chart) {
  return (plot) => {
    const context = plot.ctx;
    chart.series.forEach((series, index) => {
      if (!series.low || !plot.series[index + 1].show) return;
      context.strokeStyle = colours[index % colours.length];
      context.lineWidth = devicePixelRatio;
      chart.x.forEach((x, at) => {
        if (series.low[at] == null || series.high[at] == null) return;
        const across = plot.valToPos(x, "x", true);
        context.beginPath();
        context.moveTo(across, plot.valToPos(series.low[at], "y", true));
        context.lineTo(across, plot.valToPos(series.high[at], "y", true));
        context.stroke();
      });
    });
  };
}

function draw(element) {
  const chart = charts[Number(element.dataset.chart)];
  const wide = element.closest("figure").classList.contains("wide");
  const axis = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") } };
  const series = chart.series.map((curve, index) => ({
    label: curve.name,
    stroke: colours[index % colours.length],
    dash: dashes[index % dashes.length],
    width: 2,
    spanGaps: curve.points,
    points: { show: curve.points || chart.x.length < 3, size: 6 },
    value: (_, value) => show(value, chart.percent),
  }));
  element.replaceChildren();
  new uPlot({
    width: Math.max(element.clientWidth, 200),
    height: wide ? 300 : 200,
    scales: { x: { time: false }, y: chart.percent ? { range: [0, 1] } : {} },
    axes: [
      { ...axis, label: "round", labelSize: 18, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
      { ...axis, size: 58, values: (_, ticks) => ticks.map((tick) => chart.percent ? Math.round(100 * tick) + " %" : tick.toLocaleString("en")) },
    ],
    series: [{ label: "round" }, ...series],
    hooks: { draw: [whiskers(chart)] },
  }, [chart.x, ...chart.series.map((curve) => curve.y)], element);
}

function drawAll() { document.querySelectorAll(".plot").forEach(draw); }
drawAll();
let waiting;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 150); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
