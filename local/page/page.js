"use strict";
// The page: chat, sessions, approvals and settings. What models, tools and users said is only ever set as text.

const TEXTS = {
  en: {
    skip: "Skip to the content", chat: "Chat", sessions: "Sessions", approvals: "Approvals", settings: "Settings",
    newSession: "New session", question: "Your question", send: "Send", sessionId: "Session id", show: "Show",
    how: "Enter sends, Shift+Enter begins a new line.", lookAgain: "Look again", you: "You", agent: "Agent",
    thinking: "thinking …", tool: "Tool", input: "Input", result: "Result", said: "Said", forget: "Forget",
    forgetAsk: "Forget this session for good?", yes: "Yes, run it", no: "No", reason: "Reason", since: "since",
    until: "until", nothing: "Nothing waits for approval.", noSessions: "No session is kept.", turn: "Turn", steps: "steps",
    tokensIn: "tokens in", tokensOut: "out", notSaved: "This answer could not be saved.", step: "Step", sent: "What the model was sent",
    gone: "The connection broke. Ask again: the same request gets its answer.", goOn: "Go on in the chat", name: "Setting",
    value: "Value", session: "session", caller: "caller", approved: "approved", denied: "denied", language: "日本語",
    more: "Show the rest",
  },
  ja: {
    skip: "本文へ", chat: "チャット", sessions: "セッション", approvals: "承認", settings: "設定",
    newSession: "新しいセッション", question: "質問", send: "送信", sessionId: "セッションID", show: "表示",
    how: "Enterで送信、Shift+Enterで改行します。", lookAgain: "更新", you: "あなた", agent: "エージェント",
    thinking: "考えています…", tool: "ツール", input: "入力", result: "結果", said: "発言", forget: "削除",
    forgetAsk: "このセッションを完全に削除しますか?", yes: "承認して実行", no: "却下", reason: "理由", since: "依頼",
    until: "期限", nothing: "承認待ちはありません。", noSessions: "保存されたセッションはありません。", turn: "ターン", steps: "ステップ",
    tokensIn: "入力トークン", tokensOut: "出力", notSaved: "この回答は保存できませんでした。", step: "ステップ", sent: "モデルに送った内容",
    gone: "接続が切れました。もう一度送ると、同じ回答を受け取れます。", goOn: "チャットで続ける", name: "設定名",
    value: "値", session: "セッション", caller: "呼び出し元", approved: "承認済み", denied: "却下済み", language: "English",
    more: "残りを表示",
  },
};
const LONGEST = 100_000; // characters of one text that are laid out at once; the rest comes on demand
const AT_ONCE = 5; // turns that are shown before the browser gets its turn
let language = (localStorage.getItem("language") || navigator.language).startsWith("ja") ? "ja" : "en";
let about = { prices: {}, settings: {} };
let session = { id: "", caller: "" };
let pending = null; // a request whose stream broke: sent again under its own id

const $ = (id) => document.getElementById(id);
const t = (key) => TEXTS[language][key];

// Control, bidirectional and invisible characters as codes, so that no text can look like another. The joiners U+200C and
// U+200D stay: Persian, Hindi and many emoji are written with them.
const HIDDEN = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|\uDB40[\uDC00-\uDC7F]/gu;
const plain = (value) => String(value ?? "").replace(HIDDEN, (c) => `‹U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.map((child) => (typeof child === "string" ? plain(child) : child)));
  return made;
}

function text(value, tag = "p") {
  const whole = String(value ?? "");
  const made = el(tag, { class: "text", dir: "auto" }, whole.slice(0, LONGEST));
  if (whole.length <= LONGEST) return made;
  let shown = LONGEST;
  const more = el("button", { type: "button", class: "plain", onclick: () => {
    made.append(plain(whole.slice(shown, (shown += LONGEST))));
    if (shown >= whole.length) more.remove();
  } }, t("more"));
  return el("div", {}, made, more);
}

const json = (value) => text(typeof value === "string" ? value : JSON.stringify(value, null, 2), "pre");

function problem(message) {
  $("problem").hidden = !message;
  $("problem").textContent = plain(message);
}

async function call(path, options = {}) {
  const response = await fetch(path, { ...options, headers: { "content-type": "application/json", ...options.headers } });
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Error(body.error ? `${body.error.code}: ${body.error.message}` : `${response.status} ${response.statusText}`);
}

const read = async (path) => (await call(path)).json();

// Server-sent events of a response, each as [name, data].
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n\n");
    rest = lines.pop();
    for (const block of lines) {
      const found = /^event: (\w+)\ndata: (.*)$/m.exec(block);
      if (found) yield [found[1], JSON.parse(found[2])];
    }
  }
}

// Sends and shows an answer as it comes, in `place`. Returns the answer, or nothing where there is none.
async function follow(path, body, place) {
  const steps = new Map();
  const tools = el("ul", { class: "tools" });
  const spoken = el("div");
  const wait = el("p", { class: "quiet running" }, t("thinking"));
  place.replaceChildren(spoken, tools, wait);
  place.setAttribute("aria-busy", "true");
  try {
    const response = await call(path, { method: "POST", body: JSON.stringify(body), headers: { accept: "text/event-stream" } });
    if (!response.headers.get("content-type").startsWith("text/event-stream")) return await shown(await response.json(), place);
    for await (const [name, data] of events(response)) {
      switch (name) {
        case "start":
          session.id = data.session_id;
          body.request_id ??= data.request_id;
          showSession();
          break;
        case "text":
          if (!steps.has(data.step)) spoken.append(steps.set(data.step, el("p", { class: "text", dir: "auto" })).get(data.step));
          steps.get(data.step).append(plain(data.text));
          keepInSight();
          break;
        case "void":
          steps.get(data.step)?.remove();
          steps.delete(data.step);
          break;
        case "tool_use":
          tools.append(el("li", { class: "tool running", "data-id": data.tool_use_id }, data.name));
          break;
        case "tool_result": {
          const chip = tools.querySelector(`[data-id="${CSS.escape(data.tool_use_id)}"]`);
          chip?.setAttribute("class", `tool ${data.status === "success" ? "success" : "error"}`);
          chip?.replaceChildren(plain(`${data.name} · ${data.status} · ${data.milliseconds} ms`));
          break;
        }
        case "answer":
          return await shown(data, place, tools);
        case "error":
          throw new Error(`${data.error.code}: ${data.error.message}`);
      }
    }
    pending = { path, body };
    throw new Error(t("gone"));
  } catch (error) {
    wait.remove();
    problem(error.message);
  } finally {
    place.removeAttribute("aria-busy");
  }
}

async function shown(answer, place, tools) {
  session.id = answer.session_id;
  showSession();
  if (!tools) tools = el("ul", { class: "tools" }, ...answer.tool_uses.map((use) =>
    el("li", { class: `tool ${use.status}` }, `${use.name} · ${use.status} · ${use.milliseconds} ms`)));
  place.replaceChildren(text(answer.answer), tools, el("p", { class: "quiet" }, told(answer)));
  if (answer.saved === false) place.append(el("p", { class: "error" }, t("notSaved")));
  place.append(...(answer.approvals || []).map((entry) => decision({ ...entry, session_id: answer.session_id, caller: session.caller }, place)));
  await waiting();
  keepInSight();
  return answer;
}

function told(turn) {
  const usage = turn.usage || {};
  const parts = [`${t("turn")} ${turn.turn}`, turn.model_id, turn.stop_reason, `${turn.steps ?? "?"} ${t("steps")}`,
    `${usage.input_tokens ?? 0} ${t("tokensIn")}, ${usage.output_tokens ?? 0} ${t("tokensOut")}`, cost(usage)];
  return parts.filter(Boolean).join(" · ");
}

// US dollars, by the prices of a million tokens.
function cost(usage) {
  const kinds = { input: "input_tokens", output: "output_tokens", cache_read: "cache_read_input_tokens", cache_write: "cache_write_input_tokens" };
  const dollars = Object.entries(kinds).reduce((sum, [kind, name]) => sum + (about.prices[kind] || 0) * (usage[name] || 0), 0) / 1e6;
  return `$${dollars.toFixed(dollars < 0.01 ? 5 : 3)}`;
}

// One tool use that waits, with what is to be said of it.
function decision(entry, place) {
  const reason = el("input", { id: `reason-${entry.approval_id}`, maxlength: "1000", autocomplete: "off" });
  const card = el("div", { class: "card", role: "group", "aria-label": plain(`${t("approvals")}: ${entry.tool}`) });
  const decide = async (approved) => {
    problem("");
    card.querySelectorAll("button").forEach((button) => (button.disabled = true));
    const said = reason.value ? { approved, reason: reason.value } : approved;
    const body = { session_id: entry.session_id, ...(entry.caller && { caller: entry.caller }), approvals: { [entry.approval_id]: said } };
    const answered = el("div", { class: "said agent" });
    (place ? $("log") : card).append(answered);
    const keep = { ...session };
    const answer = await follow("/page/approvals", body, answered);
    if (!place) session = keep;
    card.querySelectorAll("button").forEach((button) => (button.disabled = Boolean(answer)));
    if (answer) card.querySelector(".row").replaceWith(el("p", { class: approved ? "success" : "error" }, t(approved ? "approved" : "denied")));
    else answered.remove();
  };
  card.append(
    el("h3", { class: "waits" }, entry.tool),
    el("p", { class: "quiet" }, [entry.session_id && `${t("session")} ${entry.session_id}`, entry.caller && `${t("caller")} ${entry.caller}`,
      entry.since && `${t("since")} ${moment(entry.since)}`, entry.expires_at && `${t("until")} ${moment(entry.expires_at)}`].filter(Boolean).join(" · ")),
    json(entry.input),
    el("label", { for: reason.id }, t("reason")), reason,
    el("div", { class: "row" },
      el("button", { type: "button", class: "yes", onclick: () => decide(true) }, t("yes")),
      el("button", { type: "button", class: "no", onclick: () => decide(false) }, t("no"))));
  return card;
}

const moment = (iso) => (Number.isNaN(Date.parse(iso)) ? iso : new Date(iso).toLocaleString(language));

function keepInSight() {
  $("log").scrollTop = $("log").scrollHeight;
}

function showSession() {
  $("session").textContent = session.id ? plain(`${t("session")} ${session.id}`) : "";
}

// Reads what waits and shows how many there are; what stands in the inbox stays until it is looked at again.
async function waiting() {
  const { approvals } = await read("/page/approvals");
  $("waiting").hidden = !approvals.length;
  $("waiting").textContent = String(approvals.length);
  return approvals;
}

async function inbox() {
  const approvals = await waiting();
  $("inbox").replaceChildren(...approvals.map((entry) => el("li", {}, decision(entry))));
  if (!approvals.length) $("inbox").append(el("li", { class: "quiet" }, t("nothing")));
}

async function sessions() {
  if (!about.can_list) return $("list").replaceChildren();
  const found = (await read("/page/sessions")).sessions;
  $("list").replaceChildren(...found.map((each) => el("li", {}, el("button", { type: "button", class: "plain", onclick: () => open(each.session_id, each.caller) },
    each.session_id), el("p", { class: "quiet" }, `${each.turns} · ${each.status} · ${each.caller} · ${moment(each.last)}`), text(each.question))));
  if (!found.length) $("list").append(el("li", { class: "quiet" }, t("noSessions")));
}

async function open(id, caller = "direct") {
  problem("");
  const place = $("turns");
  const where = `/page/sessions/${encodeURIComponent(id)}?caller=${encodeURIComponent(caller)}`;
  try {
    const { turns } = await read(where);
    const forget = async () => {
      if (!confirm(t("forgetAsk"))) return;
      try {
        await call(where, { method: "DELETE" });
        place.replaceChildren();
        await sessions();
      } catch (error) {
        problem(error.message);
      }
    };
    const goOn = () => {
      session = { id, caller };
      $("log").replaceChildren();
      for (const turn of turns.slice(-20)) $("log").append(said("user", turn.question), said("agent", turn.answer));
      showSession();
      location.hash = "#chat";
    };
    place.replaceChildren(el("div", { class: "bar" }, el("h3", {}, id),
      ...(caller === "direct" ? [el("button", { type: "button", class: "plain", onclick: goOn }, t("goOn"))] : []),
      el("button", { type: "button", class: "forget", onclick: forget }, t("forget"))));
    for (let first = 0; first < turns.length; first += AT_ONCE) {
      place.append(...turns.slice(first, first + AT_ONCE).map(turnCard));
      await new Promise((ready) => setTimeout(ready));
    }
    place.querySelector("h3").setAttribute("tabindex", "-1");
    place.querySelector("h3").focus();
  } catch (error) {
    place.replaceChildren();
    problem(error.message);
  }
}

function turnCard(turn) {
  const card = el("article", { class: "card" }, el("p", { class: "quiet" }, `${told(turn)} · ${moment(turn.created_at)}`),
    said("user", turn.question), said("agent", turn.answer));
  for (const [number, step] of turn.steps_taken.entries()) card.append(unfolded(`${t("step")} ${number + 1}: ${step.title}`, () => stepParts(step)));
  for (const entry of turn.approvals || []) card.append(decision(entry));
  if (about.sees_requests && turn.requests) {
    card.append(unfolded(t("sent"), () => [json(turn.requests)]));
  }
  return card;
}

const stepParts = (step) => [
  ...(step.said ? [el("p", { class: "quiet" }, t("said")), text(step.said)] : []),
  ...step.uses.flatMap((use) => [
    el("p", { class: use.status === "success" ? "success" : use.status === "error" ? "error" : "waits" },
      [use.tool, use.status, use.milliseconds === undefined ? "" : `${use.milliseconds} ms`].filter(Boolean).join(" · ")),
    el("p", { class: "quiet" }, t("input")), json(use.input),
    ...(use.result === undefined ? [] : [el("p", { class: "quiet" }, t("result")), json(use.result)]),
  ]),
];

// Details whose content is made when they are opened.
function unfolded(title, make) {
  const made = el("details", {}, el("summary", {}, title));
  made.addEventListener("toggle", () => made.append(...make()), { once: true });
  return made;
}

function said(role, words) {
  return el("div", { class: `said ${role}` }, text(words));
}

async function ask(question) {
  problem("");
  const body = pending?.body.question === question ? pending.body : { question, ...(session.id && { session_id: session.id }) };
  body.request_id ??= crypto.randomUUID();
  pending = null;
  const place = el("div", { class: "said agent" });
  $("log").append(said("user", question), place);
  $("send").disabled = true;
  const answer = await follow("/page/chat", body, place);
  $("send").disabled = false;
  if (answer) $("question").value = "";
  $("question").focus();
}

function settings() {
  const rows = Object.entries(about.settings).map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, String(value))));
  $("in-force").replaceChildren(el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("name")), el("th", { scope: "col" }, t("value")))), el("tbody", {}, ...rows));
}

const VIEWS = { chat: () => $("question").focus(), sessions, approvals: inbox, settings };

async function go() {
  const view = VIEWS[location.hash.slice(1)] ? location.hash.slice(1) : "chat";
  for (const name of Object.keys(VIEWS)) {
    $(name).hidden = name !== view;
    const link = document.querySelector(`nav a[href="#${name}"]`);
    name === view ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  problem("");
  try {
    await VIEWS[view]();
  } catch (error) {
    problem(error.message);
  }
}

function speak() {
  document.documentElement.lang = language;
  for (const each of document.querySelectorAll("[data-text]")) each.textContent = t(each.dataset.text);
  $("language").textContent = t("language");
  $("language").lang = language === "ja" ? "en" : "ja";
  showSession();
}

async function begin() {
  speak();
  $("language").addEventListener("click", () => {
    language = language === "ja" ? "en" : "ja";
    localStorage.setItem("language", language);
    speak();
    go();
  });
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const question = $("question").value.trim();
    if (question && !$("send").disabled) ask(question);
  });
  $("question").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    $("ask").requestSubmit();
  });
  $("new").addEventListener("click", () => {
    session = { id: "", caller: "" };
    $("log").replaceChildren();
    showSession();
    $("question").focus();
  });
  $("find").addEventListener("submit", (event) => {
    event.preventDefault();
    open($("find-id").value.trim());
  });
  $("look").addEventListener("click", go);
  window.addEventListener("hashchange", go);
  try {
    about = await read("/page/about");
    $("name").textContent = plain(about.name);
    document.title = plain(about.name);
    $("model").textContent = plain(about.banner);
  } catch (error) {
    problem(error.message);
  }
  await go();
  waiting().catch((error) => problem(error.message));
}

begin();
