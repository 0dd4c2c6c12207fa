/** Where the material stands that is handed to developers beside the checkout; read in place, never copied. */

import { fileURLToPath } from "node:url";

const SHARED = new URL("../../../shared/", import.meta.url);

/** @param {string} relative */
export function sharedPath(relative) {
  return fileURLToPath(new URL(relative, SHARED));
}

/** @param {string} name of a field case's input file */
export function caseInput(name) {
  return sharedPath(`cases/inputs/${name}`);
}
