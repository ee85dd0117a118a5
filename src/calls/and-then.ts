/**
 * Continues synchronously if the value is not a promise, so that a response from the cache needs no turn of the event loop:
 * see `sendSynchronously` in `rest/response/send-response.ts`.
 */
export function andThen<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
