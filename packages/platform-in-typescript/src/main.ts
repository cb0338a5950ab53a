// Three services that know one another: mic-a and mic-b share a MariaDB, mic-b and mic-c a Redis. The platform makes the users, with
// passwords that stay, and hands each to the server that it belongs to and to the service that logs in.
//
// It gives the same objects as platform-example, which is written in Rust: tests/e2e/test_packages.py compares the bytes.

import { call, Output, secret, type Called } from "mistletoe";

/** As mistletoe.yaml describes it; the host has checked it and put the defaults in. */
export interface Input {
  name: string;
  replicas: number;
  image?: string;
  mariadbImage?: string;
  redisImage?: string;
  databaseSize?: string;
  cacheSize?: string;
}

/** The exports of a server that this package uses. */
interface Server {
  fqdn: string;
  port: number;
}

interface User {
  username: string;
  password: string;
}

const SERVICES = ["mic-a", "mic-b", "mic-c"];
const MARIADB_USERS = ["mic-a", "mic-b"];
const REDIS_USERS = ["mic-b", "mic-c"];
const DATABASE = "shop";

export function generate(input: Input): Output {
  const install = (part: string) => `${input.name}-${part}`;
  const database = mariadb(input, install);
  const cache = redis(input, install);
  const output = new Output().withFilesFrom("mariadb", database.called).withFilesFrom("redis", cache.called);
  const services: Record<string, string> = {};
  for (const service of SERVICES) {
    const name = install(service);
    const databaseUser = database.users.find((user) => user.username === service);
    const cacheUser = cache.users.find((user) => user.username === service);
    const called = call<Server>("microservice", {
      name,
      replicas: input.replicas,
      image: input.image,
      peers: SERVICES.filter((peer) => peer !== service).map(install),
      database: databaseUser && { ...address(database.called), database: DATABASE, ...databaseUser },
      cache: cacheUser && { ...address(cache.called), ...cacheUser },
    });
    services[service] = hostAndPort(called);
    output.withFilesFrom(service, called);
    // Nothing logs in before the server knows it.
    if (databaseUser) output.after(`Deployment/${name}`, `StatefulSet/${install("mariadb")}@ready`);
    if (cacheUser) output.after(`Deployment/${name}`, `StatefulSet/${install("redis")}@ready`);
  }
  return output.withExports({ services, mariadb: hostAndPort(database.called), redis: hostAndPort(cache.called) });
}

interface CalledServer {
  called: Called<Server>;
  users: User[];
}

function mariadb(input: Input, install: (part: string) => string): CalledServer {
  const users = usersOf("mariadb", MARIADB_USERS);
  const called = call<Server>("mariadb", {
    users: users.map((user) => ({ ...user, database: DATABASE })),
    rootPassword: password("mariadb/root"),
    clients: clients(MARIADB_USERS, install),
    image: input.mariadbImage,
    persistence: { size: input.databaseSize },
  });
  return { called, users };
}

function redis(input: Input, install: (part: string) => string): CalledServer {
  const users = usersOf("redis", REDIS_USERS);
  const called = call<Server>("redis", {
    users,
    adminPassword: password("redis/admin"),
    clients: clients(REDIS_USERS, install),
    image: input.redisImage,
    persistence: { size: input.cacheSize },
  });
  return { called, users };
}

/** Users of one server; their passwords are the secrets SERVER/USER. */
function usersOf(server: string, names: string[]): User[] {
  return names.map((username) => ({ username, password: password(`${server}/${username}`) }));
}

function password(name: string): string {
  return secret.password(name, { length: 32 });
}

/** The labels of the Pods of these services. */
function clients(services: string[], install: (part: string) => string): object[] {
  return services.map((service) => ({ "app.kubernetes.io/instance": install(service) }));
}

function address(called: Called<Server>): { host: string; port: number } {
  return { host: called.exports.fqdn, port: called.exports.port };
}

function hostAndPort(called: Called<Server>): string {
  return `${called.exports.fqdn}:${called.exports.port}`;
}
