/**
 * What each admitted op does with its page. Every value here is what the broker gets as `result.value`.
 */

import { GatewayFault } from "./errors.js";
import { STREAM_CONVERSATION_SLOT } from "./policy.js";
import { BUILD, MAX_FROM_CHROME_BYTES } from "./protocol.js";
import { pumpStream } from "./streams.js";

/** @typedef {import("./gateway.js").Parts} Parts */
/** @typedef {import("./calls.js").Call} Call */
/** @typedef {import("./executor.js").Page} Page */
/**
 * @typedef {object} Context
 * @property {Parts} parts
 * @property {Call} call
 * @property {Page} page
 * @property {Record<string, number>} hops
 * @property {number} not_after_ms
 */

/** A character takes at most six bytes as JSON, so a shorter body fits in a frame whatever it holds. */
const SURELY_FITS_UTF16 = Math.floor(MAX_FROM_CHROME_BYTES / 6) - 4096;

/** @param {Parts} parts @param {number} open_calls this call included */
export async function runStatus({ settings, tabs, pause, extension_id }, open_calls) {
  const { account, notebooks } = settings.current;
  const tab = await tabs.describe();
  const { profile } = settings;
  return { build: BUILD, extension_id, profile, account, notebooks, tab, open_calls, paused: pause.is_on };
}

/** @param {Context} context @param {import("./admission.js").IdentityPlan} plan */
export async function runIdentity({ parts, page, hops }, plan) {
  const began_ms = performance.now();
  const { account, origin, build_label } = await parts.executor.identity(page, plan.account);
  hops.page_ms = performance.now() - began_ms;
  return { account, origin, build_label };
}

/** @param {Context} context @param {import("./admission.js").RpcPlan} plan */
export async function runRpc({ parts, call, page, hops, not_after_ms }, plan) {
  const began_ms = performance.now();
  const answer = await parts.executor.rpc(page, {
    key: call.key,
    account: plan.account,
    not_after_ms,
    rpc: plan.rpc,
    params_json: JSON.stringify(plan.params),
    source_path: sourcePath(plan.notebook),
    notebook: plan.notebook,
    allow: plan.notebook === null ? parts.settings.current.notebooks : null,
    is_write: plan.is_write,
  });
  hops.page_ms = performance.now() - began_ms;
  hops.fetch_ms = answer.fetch_ms;
  const { owned, status, body, retry_after_s } = answer;
  if (owned !== null && plan.notebook !== null) await parts.ownership.learn(plan.notebook, owned.kind, owned.ids);
  refuseTooLarge(plan.rpc, body);
  return { status, body, retry_after_s };
}

/**
 * @param {Context} context
 * @param {import("./admission.js").StreamPlan} plan
 * @param {(seq: number, text: string) => void} onChunk
 */
export async function runStream({ parts, call, page, hops, not_after_ms }, plan, onChunk) {
  const conversation = plan.conversation ?? crypto.randomUUID();
  // Ours before it is used: a worker that dies after the request still knows it.
  if (plan.conversation === null) await parts.ownership.learn(plan.notebook, "minted", [conversation]);
  const params = [...plan.params];
  params[STREAM_CONVERSATION_SLOT] = conversation;
  const began_ms = performance.now();
  const head = await parts.executor.openStream(page, {
    key: call.key,
    account: plan.account,
    not_after_ms,
    params_json: JSON.stringify(params),
    source_path: sourcePath(plan.notebook),
  });
  hops.fetch_ms = head.fetch_ms;
  await pumpStream(parts.executor, page, call.key, onChunk);
  hops.page_ms = performance.now() - began_ms;
  return { status: head.status, conversation, retry_after_s: head.retry_after_s };
}

/** @param {string | null} notebook */
function sourcePath(notebook) {
  return notebook === null ? "/" : `/notebook/${notebook}`;
}

/** @param {string} rpc @param {string} body */
function refuseTooLarge(rpc, body) {
  if (body.length <= SURELY_FITS_UTF16) return;
  const size_bytes = new TextEncoder().encode(JSON.stringify(body)).length;
  if (size_bytes <= MAX_FROM_CHROME_BYTES - 4096) return;
  throw new GatewayFault("UPSTREAM_REJECTED", `The answer of ${rpc} takes ${size_bytes} bytes, the limit is 64 MiB.`, {
    started: true,
  });
}
