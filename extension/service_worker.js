/**
 * Wiring only. Chrome may stop this worker at any line and start it again for any event, so every listener is
 * registered here, synchronously, and waits for the one promise that loads what is stored.
 */

import { Activity } from "./lib/activity.js";
import { Badge } from "./lib/badge.js";
import { chromeApi } from "./lib/chrome_api.js";
import { Executor } from "./lib/executor.js";
import { Gateway } from "./lib/gateway.js";
import { ALARM_NAME, NativePort } from "./lib/native_port.js";
import { listAllNotebooks } from "./lib/notebook_list.js";
import { Ownership } from "./lib/ownership.js";
import { PauseSwitch } from "./lib/pause.js";
import { isPopup, servePopup } from "./lib/popup_port.js";
import { SettingsStore } from "./lib/settings.js";
import { TabKeeper } from "./lib/tabs.js";
import { Uploads } from "./lib/uploads.js";

const api = chromeApi();
const port = new NativePort(api);
const settings = new SettingsStore(api.local);
const pause = new PauseSwitch(api.local);
const activity = new Activity(api.session);
const badge = new Badge(api);
const ownership = new Ownership(api.session);
const uploads = new Uploads(api.session);
const executor = new Executor(api);
const tabs = new TabKeeper(api, executor);
const { extension_id } = api;
const parts = { port, settings, pause, activity, ownership, uploads, tabs, executor, extension_id };
const gateway = new Gateway(parts);

const stores = [settings, pause, activity, ownership, uploads, tabs, port];
const loaded = Promise.all(stores.map((store) => store.load()));
const start = () => loaded.then(() => port.start());
const showBadge = () => badge.show({ is_paused: pause.is_on, is_connected: port.info.connected });
gateway.onChange = showBadge;
void loaded.then(showBadge);

chrome.runtime.onInstalled.addListener(() => loaded.then(() => tabs.markInstalled()).then(start));
chrome.runtime.onStartup.addListener(start);
// `wake.js` opens a port to start this worker; nothing is ever read from it. Our own popup asks through one.
chrome.runtime.onConnect.addListener((opened) => {
  if (isPopup(opened, extension_id)) servePopup(opened, parts, loaded);
  void start();
});
chrome.alarms.onAlarm.addListener((alarm) => {
  if (alarm.name === ALARM_NAME) void start();
});
chrome.tabs.onRemoved.addListener((tab_id) => loaded.then(() => tabs.handleRemoved(tab_id)));
chrome.tabs.onUpdated.addListener((tab_id, change) => loaded.then(() => tabs.handleUpdated(tab_id, change)));
chrome.tabs.onReplaced.addListener((added, removed) => loaded.then(() => tabs.handleReplaced(added, removed)));

/** For whoever drives this worker over CDP: onboarding, keeper, harness. No frame and no page leads here. */
Object.assign(globalThis, {
  ensureNativePort: () => loaded.then(() => port.ensure()),
  gatewaySettings: Object.freeze({
    get: () => loaded.then(() => settings.current),
    set: (/** @type {unknown} */ changes) => loaded.then(() => settings.set(changes)),
  }),
  gatewayNotebooks: () => loaded.then(() => listAllNotebooks({ settings, tabs, executor })),
  gatewayLastCallMs: () => gateway.last_call_ms,
});

void start();
