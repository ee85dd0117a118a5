import type { Format } from "./format.ts";
import { json } from "./json/json.ts";

/** The formats that a request may ask for; the first is the default. To add one, write its folder and list it here. */
export const formats: readonly Format[] = [json];
