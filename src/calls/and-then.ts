/**
 * Continues synchronously if the value is not a promise. A promise costs turns of the event loop: with one, a cached
 * response takes a third longer (`bench/hot.mjs`).
 */
export function andThen<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
