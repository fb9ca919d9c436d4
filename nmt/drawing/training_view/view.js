
// The script of the sentences comes before; this block adds hovering over the curves, and loading again.
{
  const parsed = (curve) => curve.dataset.values.split(";").map((pair) => {
    const [step, value] = pair.split(":");
    return { step: Number(step), value };
  });

  // The step below the pointer, found from the dots' own positions, so that the chart may have any size.
  const hover = (chart, event) => {
    const curves = [...chart.querySelectorAll("g")];
    const box = chart.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    const places = curves.map((curve) => curve.querySelector("polyline").points);
    let nearest = null;
    places.forEach((points, curve) => {
      for (let i = 0; i < points.length; i += 1) {
        const distance = Math.abs(points[i].x - x);
        if (nearest === null || distance < nearest.distance) nearest = { distance, x: points[i].x, curve, i };
      }
    });
    const { step } = parsed(curves[nearest.curve])[nearest.i];
    const values = curves.map((curve) => {
      const found = parsed(curve).find((point) => point.step === step);
      return found ? `${curve.dataset.name} ${found.value}` : "";
    });
    const cursor = chart.querySelector(".cursor");
    cursor.setAttribute("x1", nearest.x);
    cursor.setAttribute("x2", nearest.x);
    cursor.setAttribute("visibility", "visible");
    chart.parentElement.querySelector(".value").textContent = `step ${step}: ${values.filter(Boolean).join(", ")}`;
  };

  for (const chart of document.querySelectorAll(".chart")) {
    chart.addEventListener("pointermove", (event) => hover(chart, event));
    chart.addEventListener("pointerdown", (event) => hover(chart, event));
    chart.addEventListener("pointerleave", () => {
      chart.querySelector(".cursor").setAttribute("visibility", "hidden");
      chart.parentElement.querySelector(".value").textContent = "";
    });
  }

  const live = document.getElementById("live");
  let timer = null;
  const wait = () => {
    clearTimeout(timer);
    if (live.checked) timer = setTimeout(() => location.reload(), 20000);
  };
  live.checked = location.hash === "#live";
  live.addEventListener("change", () => {
    history.replaceState(null, "", live.checked ? "#live" : "#");
    wait();
  });
  wait();
}
