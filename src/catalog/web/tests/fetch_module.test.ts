import * as assert from "node:assert/strict";
import { test } from "node:test";

import { fetchModule } from "../worker/fetch_module.ts";

/** The last status is that of all further answers. */
async function asked(...statuses: number[]) {
  const urls: string[] = [];
  const ask = async (url: string) => {
    urls.push(url);
    return { status: statuses[Math.min(urls.length, statuses.length) - 1] } as Response;
  };
  const { status } = await fetchModule("/m", "package=a&version=1", ask, async () => {});
  return { status, urls };
}

const QUERY = "/m?package=a&version=1";

test("a module that is known is asked for by its URL alone", async () => {
  assert.deepEqual(await asked(200), { status: 200, urls: ["/m"] });
  assert.deepEqual(await asked(410), { status: 410, urls: ["/m"] });
});

test("an instance that doesn't know a module is told of which version it is, until it has made it", async () => {
  assert.deepEqual(await asked(404, 503, 503, 200), { status: 200, urls: ["/m", QUERY, QUERY, QUERY] });
  assert.deepEqual(await asked(404, 404), { status: 404, urls: ["/m", QUERY] });
});

test("it isn't asked for ever", async () => {
  assert.equal((await asked(404, 503)).status, 503);
});
