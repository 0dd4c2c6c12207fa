/** A small Chrome: storage that survives a worker, tabs with documents, native ports that the test answers. */

import { BUILD } from "../../extension/lib/protocol.js";

export class FakeStorage {
  items = {};

  async get(keys) {
    return structuredClone(
      Object.fromEntries(keys.filter((key) => key in this.items).map((key) => [key, this.items[key]])),
    );
  }

  async set(items) {
    Object.assign(this.items, structuredClone(items));
  }
}

class FakeEvent {
  listeners = [];

  addListener(listener) {
    this.listeners.push(listener);
  }

  emit(...args) {
    for (const listener of this.listeners) listener(...args);
  }
}

export class FakePort {
  onMessage = new FakeEvent();
  onDisconnect = new FakeEvent();
  /** @type {any[]} */
  sent = [];
  is_open = true;
  /** @type {(frame: any) => void} */
  onSent = () => {};

  postMessage(frame) {
    if (!this.is_open) throw new Error("Attempting to use a disconnected port object");
    this.sent.push(JSON.parse(JSON.stringify(frame)));
    this.onSent(this.sent.at(-1));
  }

  disconnect() {
    this.is_open = false;
  }

  /** The host sends a frame. */
  host(frame) {
    this.onMessage.emit(frame);
  }

  /** The host ends. */
  end() {
    this.is_open = false;
    this.onDisconnect.emit(this);
  }
}

/** What a tab shows. `executor` answers commands; null: no page script of ours. */
export class FakeTab {
  constructor(id, url, { executor = null, status = "complete", active = false } = {}) {
    Object.assign(this, {
      id,
      url,
      status,
      active,
      discarded: false,
      frozen: false,
      executor,
      document_id: `doc-${id}-1`,
    });
  }
}

export class FakeChrome {
  extension_id = "honooekhafmnglgdleeanheggbpklbca";
  local = new FakeStorage();
  session = new FakeStorage();
  /** @type {FakePort[]} */
  ports = [];
  alarms = new Map();
  /** @type {Map<number, FakeTab>} */
  tabs = new Map();
  log = [];
  last_error;
  #next_tab_id = 100;
  #next_document = 2;
  /** What a freshly loaded tab becomes. @type {(tab: FakeTab) => void} */
  onLoad = () => {};
  /** What a fresh page's executor answers. */
  executor = readyExecutor();

  connectNative = () => {
    const port = new FakePort();
    this.ports.push(port);
    this.onConnect(port);
    return port;
  };
  /** @type {(port: FakePort) => void} */
  onConnect = () => {};
  lastError = () => this.last_error;
  setAlarm = async (name, minutes) => void this.alarms.set(name, minutes);
  clearAlarm = async (name) => void this.alarms.delete(name);
  getTab = async (id) => ({ ...this.#tab(id) });
  findTabs = async () => [...this.tabs.values()].map((tab) => ({ ...tab }));
  keepTab = async (id) => void this.log.push(["keep", id]);
  openTab = async (url) => {
    const tab = new FakeTab((this.#next_tab_id += 1), url);
    this.tabs.set(tab.id, tab);
    this.log.push(["open", url]);
    this.#load(tab);
    return { ...tab };
  };
  navigateTab = async (id, url) => {
    this.log.push(["navigate", url]);
    this.#load(Object.assign(this.#tab(id), { url }));
  };
  reloadTab = async (id) => {
    this.log.push(["reload", id]);
    this.#load(this.#tab(id));
  };
  badge = "";
  setBadge = async (text) => void (this.badge = text);
  closeTab = async (id) => {
    this.log.push(["close", id]);
    this.tabs.delete(id);
  };
  executeScript = async ({ target, world, injectImmediately, args: [entry, command] }) => {
    if (world !== "MAIN" || !injectImmediately || entry !== "__notebookGatewayExecutor")
      throw new Error("wrong injection");
    const tab = this.tabs.get(target.tabId);
    if (tab === undefined) throw new Error(`No tab with id: ${target.tabId}.`);
    const document_id = tab.document_id;
    if (target.documentIds !== undefined && target.documentIds[0] !== document_id) {
      throw new Error(`No document with id ${target.documentIds[0]} in tab with id ${tab.id}.`);
    }
    const result = tab.executor === null ? null : await tab.executor(JSON.parse(JSON.stringify(command)));
    return [{ result, documentId: document_id, frameId: 0 }];
  };

  #tab(id) {
    const tab = this.tabs.get(id);
    if (tab === undefined) throw new Error(`No tab with id: ${id}.`);
    return tab;
  }

  #load(tab) {
    const document_id = `doc-${tab.id}-${(this.#next_document += 1)}`;
    Object.assign(tab, { document_id, executor: this.executor, status: "complete", discarded: false, frozen: false });
    this.onLoad(tab);
  }
}

/** An executor of this build; `ops` answers the other commands. */
export function readyExecutor(ops = {}) {
  return async (command) => {
    if (command.op === "probe") return { ok: true, build: BUILD, ready: true, loaded_ms: Date.now() };
    const answer = ops[command.op];
    return answer === undefined ? { ok: true } : answer(command);
  };
}

/** Let everything happen that does not wait for a timer or for the test. */
export async function settled() {
  for (let i = 0; i < 5; i += 1) await new Promise(setImmediate);
}

/** @param {() => boolean} fits */
export async function until(fits) {
  while (!fits()) await new Promise(setImmediate);
}
