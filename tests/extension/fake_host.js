/** The whole worker on a fake Chrome, with the test in the place of the native host. */

import { Activity } from "../../extension/lib/activity.js";
import { Executor } from "../../extension/lib/executor.js";
import { Gateway } from "../../extension/lib/gateway.js";
import { NativePort } from "../../extension/lib/native_port.js";
import { Ownership } from "../../extension/lib/ownership.js";
import { PauseSwitch } from "../../extension/lib/pause.js";
import { SettingsStore } from "../../extension/lib/settings.js";
import { TabKeeper } from "../../extension/lib/tabs.js";
import { Uploads } from "../../extension/lib/uploads.js";
import { FakeChrome, readyExecutor } from "./fake_chrome.js";

export const ACCOUNT = "ada@example.com";
export const NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a";
export const FOREIGN = "1a2b3c4d-0002-4a00-8b00-00000000000b";
export const SOURCE = "5a2b3c4d-0001-4a00-8b00-00000000000a";
export const OPT = [2, null, null, [1, null, null, null, null, null, null, null, null, null, [1]]];

/** An answer of the page to an admitted rpc. */
export const rpcAnswer = (more = {}) => ({
  ok: true,
  status: 200,
  body: "body",
  retry_after_s: null,
  owned: null,
  fetch_ms: 3,
  ...more,
});

export class FakeHost {
  /** @type {any[]} everything but heartbeats and `ready`, in order */
  received = [];
  /** @type {any[]} what reached the page */
  commands = [];
  #waiting = [];
  #next_id = 1;

  constructor(chrome = new FakeChrome()) {
    this.chrome = chrome;
    chrome.onConnect = (port) => {
      port.onSent = (frame) => this.#take(frame);
    };
  }

  /** Start a worker on what Chrome has stored; a second call is a worker after the first one was stopped. */
  async startWorker() {
    const { chrome } = this;
    this.port = new NativePort(chrome);
    this.settings = new SettingsStore(chrome.local);
    this.pause = new PauseSwitch(chrome.local);
    this.activity = new Activity(chrome.session);
    this.ownership = new Ownership(chrome.session);
    this.uploads = new Uploads(chrome.session);
    const executor = new Executor(chrome);
    this.executor = executor;
    this.tabs = new TabKeeper(chrome, executor);
    this.gateway = new Gateway({
      port: this.port,
      settings: this.settings,
      pause: this.pause,
      activity: this.activity,
      ownership: this.ownership,
      uploads: this.uploads,
      tabs: this.tabs,
      executor,
      extension_id: chrome.extension_id,
    });
    const { settings, pause, activity, ownership, uploads, tabs, port } = this;
    await Promise.all([settings, pause, activity, ownership, uploads, tabs, port].map((part) => part.load()));
    this.port.start();
    return this;
  }

  /** What the page answers to each command; each command is noted. */
  page(ops) {
    const noted = Object.fromEntries(
      Object.entries(ops).map(([op, answer]) => [op, (command) => (this.commands.push(command), answer(command))]),
    );
    this.chrome.executor = readyExecutor(noted);
    for (const tab of this.chrome.tabs.values()) tab.executor = this.chrome.executor;
  }

  host(frame) {
    this.chrome.ports.at(-1).host(frame);
  }

  /** Send a call and return its id. */
  send(op, params, more = {}) {
    const id = more.id ?? this.#next_id++;
    this.host({
      conn: 1,
      type: "call",
      id,
      op,
      params,
      notebook: NOTEBOOK,
      account: ACCOUNT,
      not_after_ms: Date.now() + 5_000,
      trace: {},
      ...more,
    });
    return id;
  }

  call(op, params, more = {}) {
    const id = this.send(op, params, more);
    return this.next((frame) => frame.type === "result" && frame.id === id);
  }

  rpc(rpc, params, more = {}) {
    return this.call("rpc", { rpc, params }, more);
  }

  ask(more = {}) {
    const { conversation = null, sources = [], ...frame } = more;
    return this.call(
      "stream",
      { params: [sources, "why?", null, [2, null, [1], [1]], conversation, null, null, NOTEBOOK, 1] },
      frame,
    );
  }

  /** The first frame, past or future, that fits. */
  next(fits) {
    const past = this.received.find(fits);
    if (past !== undefined) return Promise.resolve(past);
    return new Promise((resolve) => this.#waiting.push({ fits, resolve }));
  }

  results(id) {
    return this.received.filter((frame) => frame.type === "result" && frame.id === id);
  }

  /** End what would keep the test process alive: open calls, heartbeat and the retry. */
  close() {
    this.port.start = () => {};
    this.port.drop("the test is over");
  }

  #take(frame) {
    if (["ready", "ping", "pong"].includes(frame.type)) return;
    this.received.push(frame);
    for (const waiting of this.#waiting.filter(({ fits }) => fits(frame))) {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.resolve(frame);
    }
  }
}

/** A host with a worker that has account and allowlist. */
export async function configuredHost(chrome) {
  const host = await new FakeHost(chrome).startWorker();
  await host.settings.set({ account: ACCOUNT, notebooks: [NOTEBOOK] });
  host.page({ rpc: () => rpcAnswer() });
  host.received.length = 0;
  return host;
}
