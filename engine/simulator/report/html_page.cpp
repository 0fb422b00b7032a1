#include "engine/simulator/report/html_page.hpp"

#include <string>

#include "engine/simulator/report/svg.hpp"

namespace weft::simulator::report {

namespace {

// The colours are those of Okabe and Ito, which people with any colour vision can tell apart. Lines are whole, dashed or dotted in
// turn, so that one below an equal one shows between its dashes.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --dim: #667; --rule: #dfe3e8; --good: #0a7a4b; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e6e9ed; --dim: #99a; --rule: #333a42; --good: #4cc38a; --bad: #ff8a80; } }
:root { --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7; --c4: #e69f00; --c5: #56b4e9; --c6: #8c6d31; --c7: #777; }
body { margin: 0 auto; max-width: 1220px; padding: 20px 24px 60px; background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 6px 0 2px; } h2 { font-size: 17px; margin: 34px 0 8px; border-bottom: 1px solid var(--rule); padding-bottom: 4px; }
p, li { color: var(--dim); max-width: 90ch; } p { margin: 4px 0 10px; } code { font-size: 13px; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; } .wide { overflow-x: auto; }
th, td { padding: 3px 14px 3px 0; text-align: right; white-space: nowrap; } th:first-child, td:first-child { text-align: left; }
tr { border-bottom: 1px solid var(--rule); } th { color: var(--dim); font-weight: 600; } td.best { font-weight: 650; }
td small { color: var(--dim); } td small.good { color: var(--good); } td small.bad { color: var(--bad); }
.facts tr { border: 0; } .facts td { padding: 1px 18px 1px 0; text-align: left; white-space: normal; overflow-wrap: anywhere; } .facts td:first-child { color: var(--dim); white-space: nowrap; vertical-align: top; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(480px, 1fr)); gap: 14px 26px; } figure { margin: 0; }
svg { width: 100%; height: auto; display: block; font: 11px system-ui, sans-serif; } svg text { fill: var(--dim); }
svg .title { font-size: 13px; font-weight: 600; fill: var(--ink); } .grid { stroke: var(--rule); stroke-width: 1; }
.line { fill: none; stroke-width: 1.7; stroke-linejoin: round; } .interval { stroke: var(--ink); stroke-width: 1.3; fill: none; }
.cursor { stroke: var(--dim); stroke-width: 1; stroke-dasharray: 3 3; visibility: hidden; }
.bar rect, .span rect { stroke: none; } .span .waiting { opacity: .28; } .span .failed rect { fill: var(--bad); }
.even { stroke: var(--dim); stroke-dasharray: 4 4; } .limit { stroke: var(--bad); stroke-width: 1.2; stroke-dasharray: 8 4; } .dots { fill-opacity: .55; }
.area { stroke: none; fill-opacity: .85; } .part { stroke: var(--paper); stroke-width: .5; } .p0 { fill: #56b4e9; } .p1 { fill: #0072b2; } .p2 { fill: #e69f00; } .p3 { fill: #aab2bd; }
#legend { position: sticky; top: 0; z-index: 2; background: var(--paper); padding: 8px 0; display: flex; flex-wrap: wrap; gap: 6px 18px; border-bottom: 1px solid var(--rule); }
#legend label { cursor: pointer; } #legend i { display: inline-block; width: 22px; height: 0; border-top: 3px solid; margin-right: 7px; vertical-align: 4px; }
#legend .off { opacity: .35; } .hidden { display: none; }
#tip { position: fixed; pointer-events: none; background: var(--paper); border: 1px solid var(--rule); border-radius: 5px; padding: 5px 9px; font-size: 12px;
  box-shadow: 0 2px 8px #0003; visibility: hidden; white-space: pre; z-index: 3; }
)";

constexpr std::string_view kScript = R"(
const tip = document.getElementById('tip');
document.querySelectorAll('#legend label').forEach((label, n) => label.onclick = () => {
  label.classList.toggle('off');
  document.querySelectorAll(`.line.s${n}, .bar.s${n}, .dots.s${n}`).forEach(e => e.classList.toggle('hidden'));
});
const text = v => Math.abs(v) >= 1000 ? v.toFixed(0) : String(+v.toPrecision(3));
document.querySelectorAll('svg.plot').forEach(svg => {
  const [x0, x1, xa, xb, log] = svg.dataset.x.split(' ').map(Number), [y0, y1, ya, yb] = svg.dataset.y.split(' ').map(Number);
  const lines = [...svg.querySelectorAll('.line')].map(e => ({ e, name: e.textContent,
    points: e.getAttribute('d').slice(1).split(/[ML]/).map(p => p.split(' ').map(Number)) }));
  const cursor = svg.querySelector('.cursor');
  svg.onmousemove = event => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    if (x < xa || x > xb) return svg.onmouseleave();
    const part = (x - xa) / (xb - xa), rows = [text(log ? x0 * Math.pow(x1 / x0, part) : x0 + part * (x1 - x0))];
    for (const { e, name, points } of lines) {
      if (e.classList.contains('hidden') || x < points[0][0] - 1) continue;
      let at = points[0];
      for (const p of points) { if (p[0] > x) break; at = p; }
      rows.push(name + '  ' + text(y0 + (at[1] - ya) / (yb - ya) * (y1 - y0)));
    }
    cursor.setAttribute('x1', x); cursor.setAttribute('x2', x); cursor.style.visibility = 'visible';
    tip.textContent = rows.join('\n'); tip.style.visibility = 'visible';
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px'; tip.style.top = event.clientY + 14 + 'px';
  };
  svg.onmouseleave = () => { cursor.style.visibility = tip.style.visibility = 'hidden'; };
});
)";

std::string series_colours() {
  std::string css;
  constexpr std::string_view kDashes[] = {"none", "9 4", "2 3", "12 3 2 3"};
  for (int series = 0; series < 32; ++series) {
    const std::string n = std::to_string(series), colour = "var(--c" + std::to_string(series % 8) + ")";
    css += ".line.s" + n + "{stroke:" + colour + ";stroke-dasharray:" + std::string(kDashes[series % 4]) + "}";
    css += ".bar.s" + n + " rect,.span.s" + n + " rect,.dots.s" + n + ",.area.a" + n + "{fill:" + colour + "}";
  }
  return css + "\n";
}

}  // namespace

std::string html_page(std::string_view title, std::string_view body) {
  std::string page =
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>";
  page += "<title>" + html_escaped(title) + "</title><style>" + std::string(kStyle) + series_colours() + "</style></head><body>\n";
  page += body;
  page += "<div id='tip'></div><script>" + std::string(kScript) + "</script></body></html>\n";
  return page;
}

}  // namespace weft::simulator::report
