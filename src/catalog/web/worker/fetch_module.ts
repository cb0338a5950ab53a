// A module from a catalog that may have several instances behind a balancer.

const MOST_TRIES = 120; // a version is prepared within two minutes

export type Fetch = (url: string) => Promise<Response>;
export type Wait = (milliseconds: number) => Promise<unknown>;

const later: Wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/**
 * The instance that is asked may be another one than the one that told us of the module, and not know it. Told of which version it is, that one
 * prepares it, too. Only then: a URL without the query is the same for all packages that have an engine, and browsers keep what comes from it.
 */
export async function fetchModule(url: string, ofVersion: string, ask: Fetch = fetch, wait: Wait = later): Promise<Response> {
  const answer = await ask(url);
  if (answer.status !== 404) return answer;
  for (let tries = 1; ; tries++) {
    const made = await ask(`${url}?${ofVersion}`);
    if (made.status !== 503 || tries === MOST_TRIES) return made;
    await wait(1000);
  }
}
