/**
 * What the upload ops do with their page. The session address goes from the page into the store and from the store into
 * the page; no value, fault or event that leaves the browser has it.
 */

import { newHandle } from "./uploads.js";

/** @typedef {import("./ops.js").Context} Context */

/** @param {Context} context @param {import("./upload_admission.js").UploadStartPlan} plan */
export async function runUploadStart({ parts, page, hops, not_after_ms }, plan) {
  const { account, notebook, source, name, size_bytes, mime_type } = plan;
  const upload = newHandle();
  const command = { account, not_after_ms, upload, notebook, source, name, size_bytes, mime_type };
  const began_ms = performance.now();
  const { url, granularity_bytes, fetch_ms } = await parts.executor.uploadStart(page, command);
  hops.page_ms = performance.now() - began_ms;
  hops.fetch_ms = fetch_ms;
  await parts.uploads.add(upload, { url, notebook, source, account, size_bytes, granularity_bytes });
  return { upload, granularity_bytes };
}

/** @param {Context} context @param {import("./upload_admission.js").UploadStepPlan} plan */
export async function runUploadStep({ parts, page, hops, not_after_ms }, plan) {
  const { op, account, upload, session, offset, data } = plan;
  const { url, size_bytes, granularity_bytes } = session;
  const command = { account, not_after_ms, upload, url, size_bytes, granularity_bytes };
  const began_ms = performance.now();
  const { executor } = parts;
  const { value, fetch_ms } =
    op === "upload.slice"
      ? await executor.uploadSlice(page, { ...command, offset, data })
      : await executor.uploadState(page, op, command);
  hops.page_ms = performance.now() - began_ms;
  hops.fetch_ms = fetch_ms;
  return value;
}
