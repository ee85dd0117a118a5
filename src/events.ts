import type { Failure } from "./failure.ts";

/** Everything that the service reports of itself. Log, metrics and audit listen. */
export type ServiceEvent =
  | {
      readonly kind: "call-failed";
      readonly requestId: string;
      readonly endpoint: string;
      readonly failure: Failure;
      readonly cause: unknown;
    }
  | { readonly kind: "call-cut"; readonly requestId: string; readonly endpoint: string; readonly failure: Failure }
  | { readonly kind: "source-down"; readonly connection: string; readonly message: string }
  | { readonly kind: "source-up"; readonly connection: string }
  /** Something beside the data that the service leans on: a key server, a shared counter, a certificate. `message` says what is done instead. */
  | { readonly kind: "part-down"; readonly part: string; readonly message: string }
  | { readonly kind: "part-up"; readonly part: string }
  | { readonly kind: "unexpected"; readonly requestId: string; readonly error: unknown };

export type Report = (event: ServiceEvent) => void;
