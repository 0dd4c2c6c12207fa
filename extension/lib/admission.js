/**
 * What a call must pass before a page is even looked for, in this order: known op, expected account, allowed notebook,
 * the closed table, ownership of every id. Pure; each refusal is proof that nothing started.
 */

import { MAX_ENTRIES } from "./activity.js";
import { GatewayFault, maskAddress } from "./errors.js";
import { isCount } from "./frames.js";
import { RPC_RULES, STREAM_PARAMS, checkParams, isId } from "./policy.js";
import { isAllowed, isSameAccount } from "./settings.js";
import { UPLOAD_FIELDS, planStart, planStep } from "./upload_admission.js";

/** @typedef {import("./frames.js").CallFrame} CallFrame */
/** @typedef {import("./settings.js").Settings} Settings */
/** @typedef {import("./ownership.js").Owner} Owner */
/** @typedef {import("./policy.js").IdUse} IdUse */

/** @typedef {{op: "status"}} StatusPlan */
/** @typedef {{op: "activity", limit: number}} ActivityPlan */
/** @typedef {{op: "identity", account: string, refresh: boolean}} IdentityPlan */
/**
 * @typedef {object} RpcPlan
 * @property {"rpc"} op
 * @property {string} account
 * @property {string} rpc
 * @property {unknown} params
 * @property {string | null} notebook
 * @property {boolean} is_write
 */
/**
 * @typedef {object} StreamPlan
 * @property {"stream"} op
 * @property {string} account
 * @property {unknown[]} params
 * @property {string} notebook
 * @property {string | null} conversation null: a fresh one has to be minted
 */
/** @typedef {import("./upload_admission.js").UploadStartPlan} UploadStartPlan */
/** @typedef {import("./upload_admission.js").UploadStepPlan} UploadStepPlan */
/** @typedef {StatusPlan | ActivityPlan | IdentityPlan | RpcPlan | StreamPlan | UploadStartPlan | UploadStepPlan} Plan */
/**
 * @typedef {object} Known what this worker has learnt
 * @property {(id: string) => Owner | undefined} ownerOf
 * @property {(handle: string) => import("./uploads.js").UploadSession | undefined} uploadOf
 */

/**
 * @param {CallFrame} call
 * @param {Settings} settings
 * @param {Known} known
 * @returns {Plan} Throws GatewayFault with `started` false.
 */
export function admit(call, settings, known) {
  const planFor = Object.hasOwn(PLANS, call.op) ? PLANS[call.op] : undefined;
  if (planFor === undefined) {
    throw new GatewayFault("INVALID_ARGUMENT", `Op "${call.op.slice(0, 40)}" is not in this build's table.`);
  }
  return planFor(call, settings, known);
}

/** @typedef {(call: CallFrame, settings: Settings, known: Known) => Plan} Planner */

/** @type {Readonly<Record<string, Planner>>} */
const PLANS = Object.freeze({
  status(call) {
    expectFields(call, []);
    expectNoNotebook(call);
    return { op: "status" };
  },

  activity(call) {
    expectFields(call, ["limit"]);
    expectNoNotebook(call);
    const { limit } = call.params;
    if (!isCount(limit) || limit === 0 || limit > MAX_ENTRIES) {
      throw badParams(call, `limit must be a number from 1 to ${MAX_ENTRIES}`);
    }
    return { op: "activity", limit };
  },

  identity(call, settings) {
    const account = expectedAccount(call, settings);
    expectFields(call, ["refresh"]);
    expectNoNotebook(call);
    const { refresh } = call.params;
    if (refresh !== undefined && typeof refresh !== "boolean") throw badParams(call, "refresh must be true or false");
    return { op: "identity", account, refresh: refresh === true };
  },

  rpc(call, settings, { ownerOf }) {
    const account = expectedAccount(call, settings);
    const { rpc, params } = call.params;
    const rule = typeof rpc === "string" ? RPC_RULES.get(rpc) : undefined;
    if (rule?.at !== "front") allowedNotebook(call, settings);
    expectFields(call, ["rpc", "params"]);
    if (typeof rpc !== "string" || rule === undefined) {
      throw new GatewayFault(
        "INVALID_ARGUMENT",
        `RPC ${JSON.stringify(rpc)?.slice(0, 40)} is not in this build's table.`,
      );
    }
    if (rule.at === "front") expectNoNotebook(call);
    const { ids } = checkParams(rpc, rule.params, params);
    for (const use of ids) expectOwned(use, call.notebook, ownerOf);
    return { op: "rpc", account, rpc, params, notebook: call.notebook, is_write: rule.write === true };
  },

  stream(call, settings, { ownerOf }) {
    const account = expectedAccount(call, settings);
    const notebook = allowedNotebook(call, settings);
    expectFields(call, ["params"]);
    const { ids, conversation } = checkParams("stream", STREAM_PARAMS, call.params.params);
    for (const use of ids) expectOwned(use, notebook, ownerOf);
    const params = /** @type {unknown[]} */ (call.params.params);
    return { op: "stream", account, params, notebook, conversation: conversation ?? null };
  },

  "upload.start": (call, settings, { ownerOf }) => {
    const account = expectedAccount(call, settings);
    const notebook = allowedNotebook(call, settings);
    expectFields(call, UPLOAD_FIELDS["upload.start"]);
    const { source } = call.params;
    if (!isId(source)) throw badParams(call, "source must be a source id (lower-case UUID text)");
    expectOwned({ kind: "source", id: source, path: "source" }, notebook, ownerOf);
    return planStart(call.params, { account, notebook });
  },

  "upload.slice": planStepOf("upload.slice"),
  "upload.query": planStepOf("upload.query"),
  "upload.finish": planStepOf("upload.finish"),
});

/** @param {UploadStepPlan["op"]} op @returns {Planner} */
function planStepOf(op) {
  return (call, settings, { uploadOf }) => {
    const account = expectedAccount(call, settings);
    const notebook = allowedNotebook(call, settings);
    expectFields(call, UPLOAD_FIELDS[op]);
    return planStep(op, call.params, { account, notebook }, uploadOf);
  };
}

/** @param {CallFrame} call @param {Settings} settings @returns {string} */
function expectedAccount(call, settings) {
  const { account } = settings;
  if (account !== null && call.account !== null && isSameAccount(account, call.account)) return account;
  const asked = call.account === null ? "no account" : maskAddress(call.account);
  const own = account === null ? "none" : maskAddress(account);
  throw new GatewayFault("ACCOUNT_MISMATCH", `The call is for ${asked}; the account set in the extension is ${own}.`, {
    detail: { side: "extension", expected: asked, found: own },
  });
}

/** @param {CallFrame} call @param {Settings} settings @returns {string} */
function allowedNotebook(call, settings) {
  if (!isId(call.notebook)) throw badParams(call, "a notebook id is required (lower-case UUID text)");
  if (!isAllowed(settings, call.notebook)) {
    throw denied("The extension's own list does not allow this notebook.", { notebook_id: call.notebook });
  }
  return call.notebook;
}

/** @param {CallFrame} call */
function expectNoNotebook(call) {
  if (call.notebook !== null) throw badParams(call, "notebook must be null");
}

/** @param {CallFrame} call @param {readonly string[]} known */
function expectFields(call, known) {
  for (const name of Object.keys(call.params)) {
    if (!known.includes(name)) throw badParams(call, `unknown parameter "${name.slice(0, 40)}"`);
  }
}

/** @param {IdUse} use @param {string | null} notebook @param {(id: string) => Owner | undefined} ownerOf */
function expectOwned(use, notebook, ownerOf) {
  if (use.kind === "notebook") {
    if (use.id === notebook) return;
    throw denied("The parameters name another notebook than the call.", { reason: "foreign_notebook", path: use.path });
  }
  const owner = ownerOf(use.id);
  if (owner === undefined) {
    throw denied(`The ${use.kind} at ${use.path} is unknown; read its notebook first.`, {
      reason: "unknown_id",
      path: use.path,
    });
  }
  const is_right_kind = owner.kind === use.kind || (use.kind === "conversation" && owner.kind === "minted");
  if (owner.notebook !== notebook || !is_right_kind) {
    const text =
      use.kind === "minted" ? "conversation that this extension began for the notebook" : `${use.kind} of the notebook`;
    throw denied(`The id at ${use.path} is no ${text}.`, { reason: "foreign_id", path: use.path });
  }
}

/** @param {string} message @param {Record<string, unknown>} detail */
function denied(message, detail) {
  return new GatewayFault("ALLOWLIST_DENIED", message, { detail: { side: "extension", ...detail } });
}

/** @param {CallFrame} call @param {string} problem */
function badParams(call, problem) {
  return new GatewayFault("INVALID_ARGUMENT", `${call.op}: ${problem}.`, { detail: { side: "extension" } });
}
