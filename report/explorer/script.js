"use strict";
// Everything in the data block may have been written by a model or its command. It reaches the page only as
// text nodes and attribute values, never as markup; no style or handler is made from it, and a link only from the
// study's own names.
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("index").textContent);

  // The details are unpacked when they are first needed, or when the table has been drawn.
  let details = null;
  const unpackDetails = async () => {
    const packed = Uint8Array.from(atob($("details").textContent), (character) => character.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  };
  const loadDetails = () => (details ??= unpackDetails());
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
  const tokens = Object.fromEntries(data.shells.map(([shell, , source]) => [shell, source && new RegExp(source, "g")]));
  const cells = data.cells.map(([model, shell, task, trial, state, failure, made, attempt, reason, silent, look], index) => (
    { index, path: [model, shell, task, trial].join("/"), model, shell, task, trial, state, failure, made, attempt, reason, silent, look }));
  const categories = Object.fromEntries(data.tasks);
  // What an address can name: a cell by model/shell/task/trial, a line of the table by model/task.
  const places = new Map(cells.map((cell) => [cell.path, cell]));

  const kindOf = (cell) => (cell.state === "failed" ? (Object.hasOwn(data.kinds, cell.failure) ? data.kinds[cell.failure] : "wrong") : cell.state);
  const words = (text) => String(text).replaceAll("-", " ").replaceAll("_", " ").replace("non zero", "non-zero");
  const verdictOf = (cell) => {
    const verdict = cell.state === "failed" && cell.failure ? `failed: ${words(cell.failure)}` : (data.marks[cell.state] || [, cell.state])[1];
    return [verdict, cell.attempt, cell.state === "not_measured" ? cell.reason : null].filter(Boolean).join(", ");
  };
  const nameOf = (cell) => `${cell.model}, ${titles[cell.shell]}, ${cell.task}, trial ${cell.trial}`;
  const markOf = (kind, state) => make("span", { class: `mark ${state}`, "aria-hidden": "true" }, data.marks[kind][0]);

  // ---- the table

  const buttons = [];
  const lines = []; // each: { row, path, model, task, cells, gap, passes }
  const headings = [];
  const gapTitle = ([, challenger]) => (data.contrasts.length > 1 ? `Gap of ${titles[challenger]}, points` : "Gap, points");
  const columnsHead = () => make("thead", {}, make("tr", {},
    ...["Task", ...data.shells.map(([, title]) => title), ...data.contrasts.map(gapTitle)].map((title) => make("th", { scope: "col" }, title))));

  const signed = (number) => (number < 0 ? `\u2212${-number}` : number ? `+${number}` : "0");
  const fragment = (path) => `#${path.split("/").map(encodeURIComponent).join("/")}`;
  const linkTo = (path, attributes, ...children) => {
    const link = make("a", { href: fragment(path), ...attributes }, ...children);
    link.dataset.path = path;
    return link;
  };
  const buttonOf = (cell) => {
    const kind = kindOf(cell);
    const later = ["repaired", "broken"].includes(cell.look) ? `, ${cell.look} by a later turn` : "";
    const label = `${nameOf(cell)}: ${verdictOf(cell)}${later}`;
    const button = make("button", { type: "button", class: `mark ${cell.state}${later && " turned"}`, tabindex: "-1", "aria-label": plain(label) }, data.marks[kind][0]);
    button.title = plain(`trial ${cell.trial}: ${verdictOf(cell)}${later}`);
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
      const heading = make("tr", { class: "model" }, make("th", { scope: "rowgroup", colspan: String(1 + data.shells.length + data.contrasts.length) },
        alias, make("span", { class: "id" }, id === alias ? "" : id)));
      body.append(heading);
      for (const [task, category] of data.tasks) {
        const path = `${alias}/${task}`;
        const link = linkTo(path, { class: "task", tabindex: "-1" }, task); // by keyboard: b, or from an opened cell
        const row = make("tr", {}, make("th", { scope: "row" }, link, make("span", { class: "category" }, words(category))));
        const line = { row, path, model: alias, task, cells: [], gap: null, passes: 0 };
        const rates = {};
        for (const [shell, title] of data.shells) {
          const trials = groups.get(JSON.stringify([alias, task, shell])) || [];
          line.cells.push(...trials);
          for (const cell of trials) cell.line = line;
          const scored = trials.filter((cell) => cell.state === "passed" || cell.state === "failed").length;
          const passes = trials.filter((cell) => cell.state === "passed").length;
          line.passes += passes;
          if (scored) rates[shell] = passes / scored;
          row.append(make("td", { "data-head": title }, make("div", { class: "marks" }, ...trials.map(buttonOf),
            scored ? make("span", { class: "share" }, `${passes}/${scored}`) : null)));
        }
        if (!line.cells.length) continue;
        for (const pair of data.contrasts) {
          const [baseline, challenger] = pair.map((shell) => rates[shell]);
          const gap = baseline === undefined || challenger === undefined ? null : Math.round(100 * (challenger - baseline));
          if (gap !== null && (line.gap === null || Math.abs(gap) > Math.abs(line.gap))) line.gap = gap;
          row.append(make("td", { "data-head": gapTitle(pair), class: "points" }, gap === null ? "" : signed(gap)));
        }
        lines.push(line);
        places.set(path, line);
      }
      headings.push({ row: heading, alias, body });
      table.append(body);
    }
    $("legend").append(...Object.entries(data.marks).filter(([kind]) => cells.some((cell) => kindOf(cell) === kind))
      .map(([kind, [, title]]) => make("li", {}, markOf(kind, kind in { passed: 1, missing: 1, not_measured: 1 } ? kind : "failed"), title)));
  };

  // Within a model: the largest gap first, then tasks that were passed at all; or by name.
  let arranged = null;
  const arrange = () => {
    if (arranged === $("order").value) return;
    arranged = $("order").value;
    const size = (line) => (line.gap === null ? -1 : Math.abs(line.gap));
    const models = data.models.map(([alias]) => alias);
    lines.sort((a, b) => models.indexOf(a.model) - models.indexOf(b.model)
      || (arranged === "name" ? 0 : size(b) - size(a) || Boolean(b.passes) - Boolean(a.passes)) || (a.task < b.task ? -1 : 1));
    for (const { alias, body } of headings) body.append(...lines.filter((line) => line.model === alias).map((line) => line.row));
  };

  // ---- filters

  let shown = cells;
  let searchTexts = null;
  const prepareSearch = async () => {
    const from = await loadDetails();
    searchTexts ||= cells.map((cell) => {
      const view = from[cell.index];
      const texts = [view.command, view.reply].filter(Boolean).flatMap((text) => [text.head, text.tail]);
      return [cell.path, verdictOf(cell), cell.made || "", view.why, ...texts].join("\n").toLowerCase();
    });
  };
  const option = (value, title, count) => make("option", { value }, count === undefined ? title : `${title} (${count})`);
  const tally = (values) => values.reduce((counts, value) => counts.set(value, (counts.get(value) || 0) + 1), new Map());

  const KINDS = {
    silent: ["failed with status 0", (cell) => cell.silent],
    quiet: ["quiet wrong answer", (cell) => cell.silent > 1],
    differ: ["where the shells differ", (cell) => cell.line?.gap],
    again: ["tried again", (cell) => cell.attempt],
    repaired: ["repaired by a later turn", (cell) => cell.look === "repaired"],
    broken: ["broken by a later turn", (cell) => cell.look === "broken"],
    same: ["same after later turns", (cell) => cell.look === "same"],
  };
  const drawFilters = () => {
    const states = tally(cells.map((cell) => cell.state));
    for (const state of ["passed", "failed", "missing", "not_measured"]) {
      if (states.has(state)) $("result").append(option(state, data.marks[state] ? data.marks[state][1] : state, states.get(state)));
    }
    const classes = tally(cells.filter((cell) => cell.failure).map((cell) => cell.failure));
    const group = make("optgroup", { label: "failed with" });
    group.append(...[...classes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name, n]) => option(`class:${name}`, words(name), n)));
    if (classes.size) $("result").append(group);
    for (const [name, [title, holds]] of Object.entries(KINDS)) {
      const n = cells.filter(holds).length;
      if (n) $("result").append(option(name, title, n));
    }
    const made = tally(cells.filter((cell) => cell.made).map((cell) => cell.made));
    $("made").append(...[...made].sort().map(([name, n]) => option(name, words(name), n)));
    $("category").append(...[...new Set(data.tasks.map(([, category]) => category))].map((name) => option(name, words(name))));
    $("model").append(...data.models.map(([alias]) => option(alias, alias)));
    $("shell").append(...data.shells.map(([shell, title]) => option(shell, title)));
  };

  const FILTERS = ["text", "result", "made", "category", "model", "shell", "order"];
  const labelOf = (id) => $(id).labels[0].firstChild.data.trim();
  const tell = (text) => { if ($("count").textContent !== text) $("count").textContent = text; }; // it is read aloud
  const chosen = () => FILTERS.map((id) => [id, $(id).value.trim()]).filter(([, value]) => value);
  const applyFilters = async () => {
    const text = $("text").value.trim().toLowerCase();
    if (text && !searchTexts) await prepareSearch();
    const [result, made, category, model, shell] = ["result", "made", "category", "model", "shell"].map((id) => $(id).value);
    const fits = (cell) =>
      (!result || (Object.hasOwn(KINDS, result) ? KINDS[result][1](cell) : result.startsWith("class:") ? cell.failure === result.slice(6) : cell.state === result)) &&
      (!made || cell.made === made) && (!category || categories[cell.task] === category) &&
      (!model || cell.model === model) && (!shell || cell.shell === shell) && (!text || searchTexts[cell.index].includes(text));
    const fitting = new Set(cells.filter(fits));
    for (const cell of cells) {
      const button = buttons[cell.index];
      if (!button) continue;
      button.disabled = !fitting.has(cell);
      button.classList.toggle("out", !fitting.has(cell));
    }
    arrange();
    for (const line of lines) line.row.hidden = !line.cells.some((cell) => fitting.has(cell));
    for (const heading of headings) heading.row.hidden = !lines.some((line) => line.model === heading.alias && !line.row.hidden);
    shown = lines.flatMap((line) => line.cells.filter((cell) => fitting.has(cell)));
    tell(shown.length === cells.length ? `${cells.length} cells` : `${shown.length} of ${cells.length} cells`);
    const titleOf = (id, value) => ($(id).selectedOptions ? $(id).selectedOptions[0].textContent.replace(/ \(\d+\)$/, "") : value);
    const filters = chosen().map(([id, value]) => `${labelOf(id)}: ${titleOf(id, value)}`).join("; ");
    $("chosen").textContent = filters && `(${plain(filters)})`;
    rove(shown.includes(cells[current]) ? current : shown.length ? shown[0].index : -1, false);
    markHits();
  };

  // What was searched for is marked over the texts, so that no text is cut into pieces for it.
  const markHits = () => {
    if (!window.CSS || !CSS.highlights) return;
    CSS.highlights.delete("hit");
    const text = $("text").value.trim();
    if (!text) return;
    const pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
    const ranges = [];
    for (const block of document.querySelectorAll("#cells a.task, #cell :is(.verdict, .note, pre, .diff td, dd)")) {
      const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
      const nodes = []; // each: [where it starts in the block's text, node]
      let whole = "";
      while (walker.nextNode()) {
        nodes.push([whole.length, walker.currentNode]);
        whole += walker.currentNode.data;
      }
      for (const { index, 0: found } of whole.matchAll(pattern)) {
        const range = new Range();
        const [from, first] = nodes.findLast(([start]) => start <= index);
        const [to, last] = nodes.findLast(([start]) => start < index + found.length);
        range.setStart(first, index - from);
        range.setEnd(last, index + found.length - to);
        ranges.push(range);
        if (ranges.length === 5000) break;
      }
    }
    CSS.highlights.set("hit", new Highlight(...ranges));
  };

  // A CSV of the shown cells, made in the page; a field that a spreadsheet could take for a formula gets a quote.
  const COLUMNS = ["model", "shell", "task", "trial", "category", "state", "failure", "made", "reason", "why", "command"];
  const csvField = (value) => `"${plain(value ?? "").replace(/^(?=[=+\-@])/, "'").replaceAll('"', '""')}"`;
  const csv = (from) => [COLUMNS, ...shown.map((cell) => {
    const { why, command } = from[cell.index];
    const more = { category: categories[cell.task], why, command: command && command.head + (command.left_out ? " … " : "") + command.tail };
    return COLUMNS.map((name) => (name in more ? more[name] : cell[name]));
  })].map((row) => `${row.map(csvField).join(",")}\r\n`).join("");
  const save = async () => {
    const link = make("a", { download: `${data.study}-cells.csv`, href: URL.createObjectURL(new Blob([csv(await loadDetails())], { type: "text/csv" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
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

  const PROSE = /(?<w>(?<=\s)--?[A-Za-z][\w-]*|\b[A-Z][a-z]+-[A-Z][A-Za-z]+\b)/g; // names that no line may break in
  const HIGHLIGHTED = 20000;
  const highlight = (node, text, pattern) => {
    let from = 0;
    for (const match of pattern ? text.slice(0, HIGHLIGHTED).matchAll(pattern) : []) {
      write(node, text.slice(from, match.index));
      const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
      node.append(write(make("span", { class: `tok-${kind}` }), match[0]));
      from = match.index + match[0].length;
    }
    return write(node, text.slice(from));
  };

  const size = (bytes) => (bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : bytes >= 1e3 ? `${(bytes / 1e3).toFixed(1)} kB` : `${bytes} byte${bytes === 1 ? "" : "s"}`);
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
  const copyButton = (part) => {
    const button = make("button", { type: "button", class: "copy", "aria-label": "Copy the command" }, "Copy");
    const label = (text) => { button.textContent = text; };
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(part.head);
        label("Copied");
        setTimeout(label, 2000, "Copy");
      } catch { // no clipboard here
        getSelection().selectAllChildren(button.closest(".copied").querySelector("pre"));
        label("Press Ctrl+C");
      }
    });
    return button;
  };
  // A command that is shown in part is not offered: half a command is another one.
  const commandBlock = (title, part, cell, ...before) => make("div", { class: "copied" },
    make("div", { class: "row" }, ...before, part.bytes && !part.left_out ? copyButton(part) : null),
    part.bytes ? textBlock(title, part, coloured(cell), "command") : note("empty"));
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
    return make("div", { class: "lines", tabindex: "0", role: "region", "aria-label": `Lines, ${title}` }, table);
  };
  const folded = (title, ...parts) => make("details", {}, make("summary", {}, title), ...parts);
  const runBlock = (run, cell) => {
    const state = run.passed === null ? "missing" : run.passed ? "passed" : "failed";
    const kind = state !== "failed" ? state : cell.state === "failed" ? kindOf(cell) : "wrong";
    const block = make("section", { class: `run ${state}`, "aria-label": run.title }, make("h3", {}, markOf(kind, state), run.title),
      write(make("p"), run.why));
    if (run.diff) {
      const { rows, same, missing, extra } = run.diff;
      block.append(make("h4", {}, "Expected (−) and printed (+)"), note(`${same} line${same === 1 ? "" : "s"} as expected, ${missing} expected and not printed, ${extra} printed and not expected`
        + (rows.length < same + missing + extra ? `; ${rows.length} shown` : "")));
      if (rows.length) block.append(diffTable(run.diff, run.title));
    }
    if (run.stderr.bytes) block.append(make("h4", {}, `Standard error, ${size(run.stderr.bytes)}`), textBlock(`Standard error, ${run.title}`, run.stderr));
    for (const [title, part] of run.files) block.append(folded(`${title}, ${size(part.bytes)}`, textBlock(`${title}, ${run.title}`, part)));
    block.append(run.stdout.bytes
      ? folded(`Standard output as printed, ${size(run.stdout.bytes)}`, textBlock(`Standard output, ${run.title}`, run.stdout))
      : note("Nothing on standard output."));
    block.append(folded("How it ended and what it used", facts(run.facts)));
    return block;
  };

  // ---- what the dialog shows: a cell, or all shells of a task

  const SHELLS = data.shells.length === 2 ? "both shells" : "all shells";
  const isShown = (cell) => buttons[cell.index] && !buttons[cell.index].disabled;
  const note = (text) => write(make("p", { class: "note" }), text);
  const coloured = (cell) => (node, text) => highlight(node, text, tokens[cell.shell]);
  const unbroken = (node, text) => highlight(node, text, PROSE);
  const noCommand = (view) => note(view.reply ? "The reply holds no command." : "Nothing has been asked yet.");
  const cellLink = (cell, text) => linkTo(cell.path, { "aria-label": plain(`${nameOf(cell)}: ${verdictOf(cell)}`) }, markOf(kindOf(cell), cell.state), make("span", {}, text));
  const related = (title, links) => links.length ? make("nav", { class: "related", "aria-label": title }, make("span", {}, `${title}: `), ...links) : null;

  const cellParts = (from, cell) => {
    const view = from[cell.index];
    const same = cells.filter((other) => other !== cell && other.task === cell.task && other.trial === cell.trial);
    const body = [related("Same task and trial", [
      ...same.filter((other) => other.model === cell.model).map((other) => cellLink(other, titles[other.shell])),
      ...same.filter((other) => other.shell === cell.shell).map((other) => cellLink(other, other.model)),
      linkTo(`${cell.model}/${cell.task}`, { "aria-keyshortcuts": "b" }, `all trials of ${SHELLS}`)])];
    const command = (title, part) => body.push(commandBlock(title, part, cell, make("h3", {}, title)));
    if (view.command) command("Command", view.command);
    else body.push(make("h3", {}, "Command"), noCommand(view));
    if (view.prompt) body.push(folded("Prompt", textBlock("Prompt", view.prompt, unbroken)));
    body.push(...view.runs.toSorted((a, b) => (a.passed === false ? 0 : 1) - (b.passed === false ? 0 : 1)).map((run) => runBlock(run, cell)));
    if (view.lenient) command("Command when the reply is read leniently", view.lenient);
    body.push(...view.notes.map(note));
    if (view.reply && view.command && view.reply.head === view.command.head && view.reply.bytes === view.command.bytes) {
      body.push(make("h3", {}, "Reply as it came"), note("The command above, and nothing else."));
    } else body.push(...section("Reply as it came", view.reply, unbroken));
    for (const turn of view.turns || []) {
      body.push(make("h3", {}, turn.title));
      if (turn.why) body.push(note(turn.why));
      if (turn.shown) body.push(folded("What it was shown", textBlock(`Shown, ${turn.title}`, turn.shown)));
      if (turn.command) command(`Command, ${turn.title}`, turn.command);
    }
    if (view.facts.length) body.push(folded("Answer and score", facts(view.facts)));
    const stages = Object.keys(view.provenance);
    if (stages.length) {
      body.push(folded("Provenance", textBlock("Provenance", { head: JSON.stringify(view.provenance, null, 2), left_out: 0 }),
        note(`The records are ${stages.map((stage) => `results/${stage}/${cell.path}.json`).join(", ")}.`)));
    }
    return { name: nameOf(cell), verdict: `${verdictOf(cell)} – ${view.why}`, mark: markOf(kindOf(cell), cell.state), body };
  };

  const taskParts = (from, line) => {
    const views = new Map(line.cells.map((cell) => [cell, from[cell.index]]));
    const columns = data.shells.map(([shell, title]) => ({ title, trials: line.cells.filter((cell) => cell.shell === shell) }));
    const passes = ({ title, trials }) => {
      const count = (state) => trials.filter((cell) => cell.state === state).length;
      const measured = count("passed") + count("failed");
      return `${title} ${count("passed")} of ${measured} passed${measured < trials.length ? `, ${trials.length - measured} not measured` : ""}`;
    };
    const trialOf = (cell) => {
      const { command, why } = views.get(cell);
      const title = make("p", {}, cellLink(cell, verdictOf(cell)));
      return command ? [commandBlock(`Command, ${titles[cell.shell]}, trial ${cell.trial}`, command, cell, title), note(why)]
        : [title, note(why), noCommand(views.get(cell))];
    };
    const table = make("table", { class: "shells", "aria-label": `Trials of ${SHELLS}` }, make("thead", {}, make("tr", {},
      make("th", { scope: "col" }, "Trial"), ...columns.map(({ title }) => make("th", { scope: "col" }, title)))));
    const rows = [...new Set(line.cells.map((cell) => cell.trial))].map((trial) => make("tr", {}, make("th", { scope: "row" }, String(trial)),
      ...columns.map(({ title, trials }) => make("td", { "data-head": title }, ...trials.filter((cell) => cell.trial === trial).flatMap(trialOf)))));
    table.append(make("tbody", {}, ...rows));
    // The first prompt whole, of the others the lines in which they differ.
    const prompts = columns.map(({ title, trials }) => [title, trials.map((cell) => views.get(cell).prompt).find(Boolean)]).filter(([, prompt]) => prompt);
    const known = new Set(prompts.length ? prompts[0][1].head.split("\n") : []);
    const asked = prompts.flatMap(([title, prompt], at) => (at === 0 ? section(`Prompt, ${title}`, prompt, unbroken)
      : [note(`${title}: ${prompt.head.split("\n").filter((row) => !known.has(row)).join(" ")}`)]));
    const others = lines.filter((other) => other.task === line.task && other !== line);
    return { name: `${line.model}, ${line.task}, ${SHELLS}`, verdict: columns.map(passes).join(", "), mark: null,
      body: [related("Same task", others.map((other) => linkTo(other.path, {}, other.model))), ...asked, table] };
  };

  // Those before and after a place, of those that the filters leave.
  const around = (place) => (place.row ? lines.filter((line) => !line.row.hidden) : shown);
  const pageTitle = document.title;
  let open = null;
  const draw = async (place) => {
    const from = await loadDetails();
    if (addressed() !== place) return; // another place was opened since
    const { name, verdict, mark, body } = place.row ? taskParts(from, place) : cellParts(from, place);
    const dialog = $("cell");
    const all = around(place);
    const at = all.indexOf(place);
    const action = (title, key, run, off) => {
      const button = make("button", { type: "button", "aria-keyshortcuts": key }, title);
      button.disabled = Boolean(off);
      button.addEventListener("click", run);
      return button;
    };
    const bar = make("div", { class: "bar" }, mark,
      make("h2", { id: "cell-title" }, name, write(make("span", { class: "verdict" }), verdict)),
      make("nav", { "aria-label": place.row ? "Tasks" : "Cells" }, action("Previous", "p", () => go(-1), at <= 0),
        action("Next", "n", () => go(1), at < 0 || at + 1 >= all.length), action("Close", "Escape", () => dialog.close())));
    const main = make("div", { class: "body", tabindex: "-1" }, ...body);
    dialog.replaceChildren(make("p", { class: "paper" }, data.study), bar, main);
    if (!dialog.open) dialog.showModal();
    document.documentElement.dataset.opened = "";
    document.title = plain(`${name} – ${pageTitle}`);
    main.focus({ preventScroll: true });
    open = place;
    markHits();
  };

  // ---- the address: #place?filters, each of them or none. It alone says what is shown.

  const decoded = (written) => {
    try { return decodeURIComponent(written); } catch { return written; } // not ours: looked up as it is
  };
  const address = () => {
    const [path, ...filters] = location.hash.slice(1).split("?");
    return { path: decoded(path), filters: new URLSearchParams(filters.join("?")) };
  };
  const addressed = () => places.get(address().path);
  const addressOf = (place) => {
    const filters = String(new URLSearchParams(chosen()));
    return fragment(place ? place.path : "") + (filters && `?${filters}`);
  };
  // Sets the fields as the address says, and returns what it asks for that this study does not have.
  const readFilters = (filters) => FILTERS.filter((id) => {
    const value = filters.get(id) || "";
    if ($(id).value.trim() !== value) $(id).value = value;
    const known = !$(id).options || $(id).selectedIndex >= 0;
    if (!known) $(id).value = "";
    return !known;
  }).map((id) => `${labelOf(id)} ${filters.get(id)}`);
  const follow = async () => {
    const { path, filters } = address();
    const unknown = readFilters(filters);
    await applyFilters();
    const place = places.get(path);
    if (place) {
      const first = place.row ? place.cells.find(isShown) : place;
      if (first && isShown(first)) rove(first.index, false);
      return draw(place);
    }
    if ($("cell").open) $("cell").close();
    if (path) tell(`This study has no cell ${plain(path)}.`);
    else if (unknown.length) tell(`${$("count").textContent}; nothing in this study is ${plain(unknown.join(" or "))}`);
    return null;
  };
  // An entry of the history knows how many steps it is above the table that it was opened from, so that closing goes
  // back there and leaves no entry behind; 0: opened by its address.
  const steps = () => (history.state && history.state.steps) || 0;
  const visit = (place) => {
    history.pushState({ steps: addressed() ? steps() && steps() + 1 : 1 }, "", addressOf(place));
    return follow();
  };
  const go = (by) => {
    // From the address, which changes at once: a key pressed twice must move twice, drawn or not.
    const here = addressed() || open;
    const next = around(here)[around(here).indexOf(here) + by];
    if (!next) return;
    history.replaceState(history.state, "", addressOf(next));
    follow();
  };
  // One entry for each choice, and one for all that is typed in a row.
  const filtered = (typing) => {
    const to = addressOf(null);
    if (to === (location.hash || "#")) return;
    const replace = typing && history.state && history.state.typing;
    history[replace ? "replaceState" : "pushState"]({ typing }, "", to);
    applyFilters();
  };

  // ---- wiring

  $("cell").addEventListener("close", () => {
    if ($("cell").open) return; // it was opened again before this event
    const cell = open && (open.row ? open.cells.find(isShown) : open);
    open = null;
    delete document.documentElement.dataset.opened;
    document.title = pageTitle;
    if (addressed()) steps() ? history.go(-steps()) : history.replaceState(null, "", addressOf(null));
    if (cell && isShown(cell)) rove(cell.index);
  });
  $("cell").addEventListener("click", (event) => { if (event.target === $("cell")) $("cell").close(); });
  $("cells").addEventListener("click", (event) => {
    const button = event.target.closest("button.mark");
    if (button) visit(cells[button.dataset.index]);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-path]");
    if (!link || event.button || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    visit(places.get(link.dataset.path));
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
    const key = { ArrowRight: "n", ArrowLeft: "p" }[event.key] || event.key;
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (key === "?") $("keys").open ? $("keys").close() : $("keys").showModal();
    else if ($("keys").open) return;
    else if (open && (key === "n" || key === "p")) go(key === "n" ? 1 : -1);
    else if (!open && key === "/") { event.preventDefault(); $("text").focus(); }
    else if (key === "b") {
      const cell = open || cells[current];
      if (cell && !cell.row) visit(places.get(`${cell.model}/${cell.task}`));
    }
  });
  $("save").addEventListener("click", save);
  $("show-keys").addEventListener("click", () => $("keys").showModal());
  $("keys").addEventListener("click", () => $("keys").close());
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", () => setTimeout(filtered, 0, false));
  for (const id of FILTERS) if ($(id).options) $(id).addEventListener("change", () => filtered(false));
  let waiting = 0;
  $("text").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filtered, 120, true); });
  addEventListener("hashchange", follow);
  // On paper nothing is folded, and the dialog is not a layer above the page, which would end with the first sheet.
  let wasFolded = [];
  const onPaper = (paper) => {
    if (paper) wasFolded = [...document.querySelectorAll("details:not([open])")];
    for (const part of wasFolded) part.open = paper;
    if (!open) return;
    $("cell").close();
    $("cell")[paper ? "show" : "showModal"]();
    $("cell").querySelector(".body").focus({ preventScroll: true });
  };
  addEventListener("beforeprint", () => onPaper(true));
  addEventListener("afterprint", () => onPaper(false));

  drawTable();
  drawFilters();
  const followed = follow();
  document.documentElement.dataset.drawnMs = String(Math.round(performance.now()));
  followed.then(() => { document.documentElement.dataset.readyMs = String(Math.round(performance.now())); });
  setTimeout(loadDetails);
})();
