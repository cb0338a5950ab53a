// What a package wrote as JSON, of which nothing is known. Pure.

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** {} where it is no object. */
export const objectAt = (value: JsonObject, key: string): JsonObject => {
  const found = value[key];
  return isObject(found) ? found : {};
};

/** Only the texts of an array; [] where it is none. */
export const textsAt = (value: JsonObject, key: string): string[] => {
  const found = value[key];
  return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
};
