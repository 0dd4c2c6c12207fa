/** The popup's side of its line to the worker (`popup_port.js`): one question, one answer; a lost worker is called anew. */

/** @typedef {{ok: true, value: unknown} | {ok: false, error: {code: string, message: string}}} Answer */

const GONE = Object.freeze({ code: "INTERNAL", message: "The extension's worker stopped; trying again." });

/** @returns {(what: string, value?: unknown) => Promise<Answer>} */
export function openWorker() {
  /** @type {chrome.runtime.Port | null} */
  let port = null;
  let last_id = 0;
  /** @type {Map<number, (answer: Answer) => void>} */
  const open = new Map();

  const connect = () => {
    const made = chrome.runtime.connect(chrome.runtime.id, { name: "popup" });
    made.onMessage.addListener((/** @type {Answer & {id: number}} */ answer) => {
      open.get(answer.id)?.(answer);
      open.delete(answer.id);
    });
    made.onDisconnect.addListener(() => {
      port = null;
      for (const settle of open.values()) settle({ ok: false, error: GONE });
      open.clear();
    });
    return made;
  };

  return (what, value) =>
    new Promise((resolve) => {
      port ??= connect();
      last_id += 1;
      open.set(last_id, resolve);
      port.postMessage({ id: last_id, ask: what, value });
    });
}
