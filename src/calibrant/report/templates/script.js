"use strict";
// A cursor over each diagram: moved by the pointer, or by the slider, which the keyboard reaches.
for (const figure of document.querySelectorAll("figure")) {
  const plot = figure.querySelector(".plot"), lookup = figure.querySelector(".lookup");
  if (!plot || !lookup) continue;
  const cursor = plot.querySelector(".cursor"), slider = lookup.querySelector("input");
  const said = lookup.querySelector("output"), table = JSON.parse(lookup.querySelector("script").textContent);
  const [left, right, low, high] = ["left", "right", "low", "high"].map((name) => Number(plot.dataset[name]));
  const shown = (value) => (value > 0 && value < 0.01 ? value.toPrecision(2) : value.toFixed(value > 0.99 && value < 1 ? 5 : 3));
  const logOdds = plot.dataset.axis === "log-odds";
  const place = (p) => (logOdds ? Math.log(p / (1 - p)) : p);
  const nearest = (x) => {
    let best = 0;
    table.prediction.forEach((p, i) => { if (Math.abs(place(p) - x) < Math.abs(place(table.prediction[best]) - x)) best = i; });
    return best;
  };
  const move = (x) => {
    const i = nearest(x), p = table.prediction[i];
    cursor.hidden = false;
    cursor.style.left = `${100 * (left + ((right - left) * (place(p) - low)) / (high - low))}%`;
    const near = table.outcome[i] !== null;
    let text = `At ${shown(p)}: ${near ? `${shown(table.outcome[i])} happen` : "no rows near"}`;
    if (near && table.lower && table.lower[i] !== null)
      text += `, likely ${shown(table.lower[i])} to ${shown(table.upper[i])}`;
    if (near) text += ` (isotonic ${shown(table.isotonic[i])})`;
    said.textContent = `${text}.`;
  };
  lookup.hidden = false;
  move(low + ((high - low) * slider.value) / 1000);
  cursor.hidden = true; // until somebody asks
  slider.addEventListener("input", () => move(low + ((high - low) * slider.value) / 1000));
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width - left) / (right - left);
    if (share < 0 || share > 1) return;
    slider.value = 1000 * share;
    move(low + (high - low) * share);
  });
}
