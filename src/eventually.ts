/** A value now or later. It is a promise only if something has to be awaited, which costs more than most of the work in a short call. */
export type Eventually<T> = T | Promise<T>;

/** Continues synchronously if the value is not a promise. */
export function andThen<T, U>(value: Eventually<T>, next: (value: T) => Eventually<U>): Eventually<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
