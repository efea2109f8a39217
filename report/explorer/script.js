"use strict";
// Everything in the data block may have been written by a model or its command. It reaches the page only as
// text nodes and attribute values, never as markup; no link, style or handler is made from it.
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("index").textContent);

  // The details are unpacked when they are first needed, or when the table has been drawn.
  const inflated = (text) => {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new DecompressionStream("deflate");
    const writer = stream.writable.getWriter();
    writer.write(bytes);
    writer.close();
    return new Response(stream.readable).text();
  };
  let details = null;
  const loadDetails = () => {
    if (!details) {
      const block = $("details");
      const text = block.type.endsWith("/deflate") ? inflated(block.textContent) : Promise.resolve(block.textContent);
      details = text.then((json) => JSON.parse(json));
    }
    return details;
  };
  const unpack = (from, number) => {
    const value = from.pool[number];
    if (!Array.isArray(value)) return value;
    const parts = value.slice(1).map((part) => unpack(from, part));
    if (value[0] < 0) return parts;
    return Object.fromEntries(from.shapes[value[0]].map((key, at) => [key, parts[at]]));
  };
  const field = (from, number, key) => {
    const value = from.pool[number];
    return unpack(from, value[1 + from.shapes[value[0]].indexOf(key)]);
  };

  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(name, value);
    node.append(...children.filter((child) => child !== null));
    return node;
  };

  // Control characters, direction marks and other invisible ones are shown by number: a text must look as it is.
  const UNSEEN = /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|\p{Cs})/u;
  const unseenName = (character) => {
    const code = character.codePointAt(0);
    return code < 32 ? String.fromCodePoint(0x2400 + code) : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  };
  const plain = (text) => String(text).split(UNSEEN).map((part, at) => (at % 2 ? unseenName(part) : part)).join("");
  const write = (node, text) => {
    String(text).split(UNSEEN).forEach((part, at) => {
      if (at % 2) node.append(make("span", { class: "ctl" }, unseenName(part)));
      else if (part) node.append(part);
    });
    return node;
  };

  // ---- the cells

  const titles = Object.fromEntries(data.shells);
  const grammars = Object.fromEntries(data.shells.map(([shell, , grammar]) => [shell, grammar]));
  const cells = data.cells.map(([model, shell, task, trial, ...labels], index) => {
    const [state, failure, made] = labels.map((number) => data.names[number]);
    return { index, model: data.names[model], shell: data.names[shell], task: data.names[task], trial, state, failure, made };
  });
  const categories = Object.fromEntries(data.tasks);
  const pathOf = (cell) => `${cell.model}/${cell.shell}/${cell.task}/${cell.trial}`;
  const byPath = new Map(cells.map((cell) => [pathOf(cell), cell]));

  const GLYPHS = {
    passed: ["●", "passed"], wrong: ["×", "wrong output"], error: ["!", "error"], limit: ["T", "time or memory"],
    none: ["∅", "no usable answer"], missing: ["○", "not measured yet"], not_measured: ["–", "arm not measured"],
  };
  const KINDS = new Map(Object.entries({
    refusal: "none", empty: "none", truncated: "none", format: "none", "other-dialect": "error", "does-not-parse": "error",
    "command-not-found": "error", "non-zero-exit": "error", timeout: "limit", "resource-limit": "limit",
  }));
  const kindOf = (cell) => (cell.state === "failed" ? KINDS.get(cell.failure) || "wrong" : cell.state);
  const words = (text) => String(text).replaceAll("-", " ").replaceAll("_", " ").replace("non zero", "non-zero");
  const verdictOf = (cell) => {
    if (cell.state === "failed") return cell.failure ? `failed: ${words(cell.failure)}` : "failed";
    return cell.state === "passed" ? "passed" : GLYPHS[cell.state][1];
  };
  const nameOf = (cell) => `${cell.model}, ${titles[cell.shell]}, ${cell.task}, trial ${cell.trial}`;
  const markOf = (kind, state) => make("span", { class: `mark ${state}`, "aria-hidden": "true" }, GLYPHS[kind][0]);

  // ---- the table

  const buttons = [];
  const lines = []; // each: { row, cells }
  const headings = [];
  const columnsHead = () => make("thead", {}, make("tr", {},
    make("th", { scope: "col" }, "Task"),
    ...data.shells.map(([, title]) => make("th", { scope: "col" }, title))));

  const buttonOf = (cell) => {
    const kind = kindOf(cell);
    const label = `${nameOf(cell)}: ${verdictOf(cell)}`;
    const button = make("button", { type: "button", class: `mark ${cell.state}`, tabindex: "-1", "aria-label": plain(label) }, GLYPHS[kind][0]);
    button.title = plain(`trial ${cell.trial}: ${verdictOf(cell)}`);
    button.dataset.index = cell.index;
    buttons[cell.index] = button;
    return button;
  };

  const drawTable = () => {
    const groups = new Map();
    for (const cell of cells) {
      const key = JSON.stringify([cell.model, cell.task, cell.shell]);
      groups.has(key) ? groups.get(key).push(cell) : groups.set(key, [cell]);
    }
    const table = $("cells");
    table.append(columnsHead());
    for (const [alias, id] of data.models) {
      const body = make("tbody");
      const heading = make("tr", { class: "model" }, make("th", { scope: "rowgroup", colspan: String(1 + data.shells.length) },
        alias, make("span", { class: "id" }, id === alias ? "" : id)));
      body.append(heading);
      for (const [task, category] of data.tasks) {
        const row = make("tr", {}, make("th", { scope: "row" }, make("span", { class: "task" }, task), make("span", { class: "category" }, words(category))));
        const line = { row, cells: [] };
        for (const [shell, title] of data.shells) {
          const trials = groups.get(JSON.stringify([alias, task, shell])) || [];
          line.cells.push(...trials);
          const scored = trials.filter((cell) => cell.state === "passed" || cell.state === "failed").length;
          const passes = trials.filter((cell) => cell.state === "passed").length;
          row.append(make("td", { "data-arm": title }, make("div", { class: "marks" }, ...trials.map(buttonOf),
            scored ? make("span", { class: "share" }, `${passes}/${scored}`) : null)));
        }
        if (!line.cells.length) continue;
        lines.push({ ...line, alias });
        body.append(row);
      }
      headings.push({ row: heading, alias });
      table.append(body);
    }
    $("legend").append(...Object.entries(GLYPHS).filter(([kind]) => cells.some((cell) => kindOf(cell) === kind))
      .map(([kind, [, title]]) => make("li", {}, markOf(kind, kind in { passed: 1, missing: 1, not_measured: 1 } ? kind : "failed"), title)));
  };

  // ---- filters

  let shown = cells;
  let searchTexts = null;
  const prepareSearch = async () => {
    const from = await loadDetails();
    searchTexts ||= cells.map((cell) => {
      const view = from.cells[cell.index];
      const texts = ["command", "reply"].map((key) => field(from, view, key)).filter(Boolean).flatMap((text) => [text.head, text.tail]);
      return [pathOf(cell), verdictOf(cell), cell.made || "", field(from, view, "why"), ...texts].join("\n").toLowerCase();
    });
  };
  const option = (value, title, count) => make("option", { value }, count === undefined ? title : `${title} (${count})`);
  const tally = (values) => values.reduce((counts, value) => counts.set(value, (counts.get(value) || 0) + 1), new Map());

  const drawFilters = () => {
    const states = tally(cells.map((cell) => cell.state));
    for (const state of ["passed", "failed", "missing", "not_measured"]) {
      if (states.has(state)) $("result").append(option(state, { missing: "not measured yet", not_measured: "arm not measured" }[state] || state, states.get(state)));
    }
    const classes = tally(cells.filter((cell) => cell.failure).map((cell) => cell.failure));
    const group = make("optgroup", { label: "failed with" });
    group.append(...[...classes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name, n]) => option(`class:${name}`, words(name), n)));
    if (classes.size) $("result").append(group);
    const made = tally(cells.filter((cell) => cell.made).map((cell) => cell.made));
    $("made").append(...[...made].sort().map(([name, n]) => option(name, words(name), n)));
    $("category").append(...[...new Set(data.tasks.map(([, category]) => category))].map((name) => option(name, words(name))));
    $("model").append(...data.models.map(([alias]) => option(alias, alias)));
  };

  const applyFilters = async () => {
    const text = $("text").value.trim().toLowerCase();
    if (text && !searchTexts) await prepareSearch();
    const [result, made, category, model] = ["result", "made", "category", "model"].map((id) => $(id).value);
    const fits = (cell) =>
      (!result || (result.startsWith("class:") ? cell.failure === result.slice(6) : cell.state === result)) &&
      (!made || cell.made === made) && (!category || categories[cell.task] === category) &&
      (!model || cell.model === model) && (!text || searchTexts[cell.index].includes(text));
    const fitting = new Set(cells.filter(fits));
    for (const cell of cells) {
      const button = buttons[cell.index];
      if (!button) continue;
      button.disabled = !fitting.has(cell);
      button.classList.toggle("out", !fitting.has(cell));
    }
    for (const line of lines) line.row.hidden = !line.cells.some((cell) => fitting.has(cell));
    for (const heading of headings) heading.row.hidden = !lines.some((line) => line.alias === heading.alias && !line.row.hidden);
    shown = lines.flatMap((line) => line.cells.filter((cell) => fitting.has(cell)));
    $("count").textContent = shown.length === cells.length ? `${cells.length} cells` : `${shown.length} of ${cells.length} cells`;
    rove(shown.includes(cells[current]) ? current : shown.length ? shown[0].index : -1, false);
  };

  // ---- moving between marks: one of them is in the tab order

  let current = -1;
  const rove = (index, focus = true) => {
    if (current >= 0 && buttons[current]) buttons[current].tabIndex = -1;
    current = index;
    if (index < 0) return;
    buttons[index].tabIndex = 0;
    if (focus) { buttons[index].focus(); buttons[index].scrollIntoView({ block: "nearest", inline: "nearest" }); }
  };
  const step = (index, key) => {
    const cell = cells[index];
    const at = shown.indexOf(cell);
    if (key === "ArrowRight") return shown[at + 1];
    if (key === "ArrowLeft") return shown[at - 1];
    if (key === "Home") return shown[0];
    if (key === "End") return shown[shown.length - 1];
    const visible = lines.filter((line) => !line.row.hidden);
    const from = visible.findIndex((line) => line.cells.includes(cell));
    const line = visible[from + (key === "ArrowDown" ? 1 : -1)];
    if (!line) return undefined;
    const place = (other) => Math.abs(other.trial - cell.trial) + (other.shell === cell.shell ? 0 : 1000);
    return line.cells.filter((other) => shown.includes(other)).sort((a, b) => place(a) - place(b))[0];
  };

  // ---- one cell

  const TOKENS = {
    bash: /(?<c>(?<=^|\s)#[^\n]*)|(?<s>'[^']*'?|"(?:[^"\\]|\\[^])*"?)|(?<v>\$(?:\{[^}\n]*\}?|\w+|[@*#?$!-]))|(?<f>(?<=\s)--?[A-Za-z][\w-]*)|(?<o>\|\||&&|[|&;<>(){}]|\$\()|(?<k>\b(?:for|while|until|do|done|if|then|elif|else|fi|case|esac|in|function)\b)/g,
    pwsh: /(?<c>(?<=^|\s)#[^\n]*)|(?<s>'[^']*'?|"(?:[^"`]|`[^])*"?)|(?<v>\$(?:\{[^}\n]*\}?|[\w:]+|[?$^]))|(?<k>\b[A-Za-z]+-[A-Z][A-Za-z]+\b|\b(?:foreach|for|while|if|elseif|else|switch|function|param)\b)|(?<f>(?<=\s)-[A-Za-z]\w*)|(?<o>\|\||&&|[|&;<>(){}]|@\()/g,
  };
  const HIGHLIGHTED = 20000;
  const highlight = (node, text, shell) => {
    let from = 0;
    for (const match of text.slice(0, HIGHLIGHTED).matchAll(TOKENS[grammars[shell]])) {
      write(node, text.slice(from, match.index));
      const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
      node.append(write(make("span", { class: `tok-${kind}` }), match[0]));
      from = match.index + match[0].length;
    }
    return write(node, text.slice(from));
  };

  const size = (bytes) => (bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : bytes >= 1e3 ? `${(bytes / 1e3).toFixed(1)} kB` : `${bytes} bytes`);
  const textBlock = (title, part, draw = write, extra = "") => {
    const block = make("pre", { tabindex: "0", role: "region", "aria-label": title, class: extra || null });
    draw(block, part.head);
    if (part.left_out) {
      block.append(make("span", { class: "gap" }, `… ${part.left_out.toLocaleString("en")} characters left out; ${size(part.bytes)} in all, see the record …`));
      write(block, part.tail);
    }
    return block;
  };
  const section = (title, part, draw, extra) => part === null ? [] : [
    make("h3", {}, title),
    part.bytes === 0 ? make("p", { class: "note" }, "empty") : textBlock(title, part, draw, extra),
  ];
  const facts = (pairs) => make("dl", {}, ...pairs.map(([label, value]) =>
    make("div", {}, make("dt", {}, label), write(make("dd"), value))));

  const ROWS = { "-": ["missing", "−", "expected, not printed: "], "+": ["extra", "+", "printed, not expected: "], "=": ["same", "", ""] };
  const diffTable = (diff, title) => {
    const table = make("table", { class: "diff", "aria-label": `Expected and printed, ${title}` });
    const body = make("tbody");
    for (const [op, text] of diff.rows) {
      const [name, glyph, spoken] = ROWS[op];
      body.append(make("tr", { class: name }, make("th", { scope: "row" }, make("span", { "aria-hidden": "true" }, glyph), make("span", { class: "vh" }, spoken || "both: ")),
        write(make("td"), text)));
    }
    table.append(body);
    return table;
  };
  const runBlock = (run) => {
    const state = run.passed === null ? "missing" : run.passed ? "passed" : "failed";
    const kind = { missing: "missing", passed: "passed", failed: "wrong" }[state];
    const block = make("section", { class: `run ${state}`, "aria-label": run.title }, make("h3", {}, markOf(kind, state), run.title),
      write(make("p"), run.why), facts(run.facts));
    if (run.diff) {
      const { rows, same, missing, extra } = run.diff;
      block.append(make("h4", {}, "Expected and printed"));
      block.append(make("p", { class: "note" }, `${same} line${same === 1 ? "" : "s"} as expected, ${missing} expected and not printed (−), ${extra} printed and not expected (+)`
        + (rows.length < same + missing + extra ? `; ${rows.length} shown` : "")));
      if (rows.length) block.append(diffTable(run.diff, run.title));
    }
    if (run.stderr.bytes) block.append(make("h4", {}, `Standard error, ${size(run.stderr.bytes)}`), textBlock(`Standard error, ${run.title}`, run.stderr));
    block.append(run.stdout.bytes
      ? make("details", {}, make("summary", {}, `Standard output as printed, ${size(run.stdout.bytes)}`), textBlock(`Standard output, ${run.title}`, run.stdout))
      : make("p", { class: "note" }, "Nothing on standard output."));
    return block;
  };

  let open = null;
  const isShown = (cell) => buttons[cell.index] && !buttons[cell.index].disabled;
  const drawCell = async (cell) => {
    const from = await loadDetails();
    if (addressed() !== cell) return; // another cell was asked for meanwhile
    const view = unpack(from, from.cells[cell.index]);
    const dialog = $("cell");
    const at = shown.indexOf(cell);
    const action = (title, key, run, off) => {
      const button = make("button", { type: "button", "aria-keyshortcuts": key }, title);
      button.disabled = Boolean(off);
      button.addEventListener("click", run);
      return button;
    };
    const bar = make("div", { class: "bar" }, markOf(kindOf(cell), cell.state),
      make("h2", { id: "cell-title" }, nameOf(cell), write(make("span", { class: "verdict" }), `${verdictOf(cell)} – ${view.why}`)),
      make("nav", { "aria-label": "Cells" }, action("Previous", "p", () => go(-1), at <= 0), action("Next", "n", () => go(1), at < 0 || at + 1 >= shown.length),
        action("Close", "Escape", () => dialog.close())));
    const body = make("div", { class: "body", tabindex: "-1" });
    body.append(...section("Command", view.command, (node, text) => highlight(node, text, cell.shell), "command"));
    if (view.command === null) body.append(make("h3", {}, "Command"), make("p", { class: "note" }, view.reply ? "There is none in the reply." : "Nothing has been asked yet."));
    body.append(...view.notes.map((note) => write(make("p", { class: "note" }), note)));
    body.append(...section("Command when the reply is read leniently", view.lenient, (node, text) => highlight(node, text, cell.shell), "command"));
    if (view.facts.length) body.append(facts(view.facts));
    body.append(...section("Prompt", view.prompt));
    if (view.reply && view.command && view.reply.head === view.command.head && view.reply.bytes === view.command.bytes) {
      body.append(make("h3", {}, "Reply as it came"), make("p", { class: "note" }, "The command above, and nothing else."));
    } else body.append(...section("Reply as it came", view.reply));
    if (view.runs.length) body.append(make("h3", {}, "Runs"), ...view.runs.map(runBlock));
    if (view.files.length) {
      body.append(make("details", {}, make("summary", {}, "Provenance"),
        textBlock("Provenance", { head: JSON.stringify(view.provenance, null, 2), left_out: 0 }),
        make("p", { class: "note" }, `The records are ${view.files.map((name) => `results/${name}`).join(", ")}.`)));
    }
    dialog.replaceChildren(bar, body);
    if (!dialog.open) dialog.showModal();
    body.focus({ preventScroll: true });
    open = cell;
  };
  const go = (by) => {
    // From the address, which changes at once: a key pressed twice must move twice, drawn or not.
    const next = shown[shown.indexOf(addressed() || open) + by];
    if (next) location.replace(`#${pathOf(next).split("/").map(encodeURIComponent).join("/")}`);
  };
  const address = () => {
    const written = location.hash.slice(1);
    try { return decodeURIComponent(written); } catch { return written; } // not ours: looked up as it is
  };
  const addressed = () => byPath.get(address());
  const openAddressed = () => {
    const cell = addressed();
    if (cell) {
      if (isShown(cell)) rove(cell.index, false);
      return drawCell(cell);
    }
    if ($("cell").open) $("cell").close();
    if (address()) $("count").textContent = `There is no cell ${plain(address())} in this study.`;
    return null;
  };

  // ---- wiring

  $("cell").addEventListener("close", () => {
    const cell = open;
    open = null;
    if (location.hash.length > 1) history.replaceState(null, "", "#");
    if (cell && isShown(cell)) rove(cell.index);
  });
  $("cell").addEventListener("click", (event) => { if (event.target === $("cell")) $("cell").close(); });
  $("cells").addEventListener("click", (event) => {
    const button = event.target.closest("button.mark");
    if (button) location.hash = pathOf(cells[button.dataset.index]).split("/").map(encodeURIComponent).join("/");
  });
  $("cells").addEventListener("keydown", (event) => {
    const button = event.target.closest("button.mark");
    if (!button || event.ctrlKey || event.altKey || event.metaKey) return;
    if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const next = step(Number(button.dataset.index), event.key);
    if (next) rove(next.index);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (open && (event.key === "n" || event.key === "p")) go(event.key === "n" ? 1 : -1);
    else if (!open && event.key === "/") { event.preventDefault(); $("text").focus(); }
  });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", () => setTimeout(applyFilters));
  for (const id of ["result", "made", "category", "model"]) $(id).addEventListener("change", applyFilters);
  let waiting = 0;
  $("text").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(applyFilters, 120); });
  addEventListener("hashchange", openAddressed);

  drawFilters();
  drawTable();
  applyFilters();
  document.documentElement.dataset.drawnMs = String(Math.round(performance.now()));
  Promise.resolve(openAddressed()).then(() => { document.documentElement.dataset.readyMs = String(Math.round(performance.now())); });
  setTimeout(loadDetails);
})();
