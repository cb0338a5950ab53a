//! Three services that know one another: mic-a and mic-b share a MariaDB, mic-b and mic-c a Redis. The platform makes the
//! users, with passwords that stay, and hands each to the server that it belongs to and to the service that logs in.

use std::collections::BTreeMap;

use mistletoe::secret::User;
use mistletoe::{Error, MistOutput, MistResult};

mistletoe::mistletoe_package! { file = "mistletoe.yaml" }
mistletoe::types! { file = "mistletoe.yaml" }

mistletoe::dependency!("mariadb", file = "../mariadb/mistletoe.yaml");
mistletoe::dependency!("redis", file = "../redis/mistletoe.yaml");
mistletoe::dependency!("microservice", file = "../microservice/mistletoe.yaml");

const SERVICES: [&str; 3] = ["mic-a", "mic-b", "mic-c"];
const MARIADB_USERS: [&str; 2] = ["mic-a", "mic-b"];
const REDIS_USERS: [&str; 2] = ["mic-b", "mic-c"];
const DATABASE: &str = "shop";

fn generate(inputs: Inputs) -> MistResult {
    let database = Server::mariadb(&inputs)?;
    let cache = Server::redis(&inputs)?;
    let mut output =
        MistOutput::new().with_files_from("mariadb", &database.answer).with_files_from("redis", &cache.answer);
    let mut services = BTreeMap::new();
    for service in SERVICES {
        let name = inputs.install(service);
        let called = microservice::call(&microservice::Inputs {
            name: Some(name.clone()),
            replicas: Some(inputs.replicas),
            image: inputs.image.clone(),
            peers: Some(SERVICES.iter().filter(|&&peer| peer != service).map(|peer| inputs.install(peer)).collect()),
            database: database.user(service).map(|user| microservice::Database {
                host: database.answer.exports.fqdn.clone(),
                port: database.answer.exports.port,
                database: DATABASE.into(),
                username: user.username.clone(),
                password: user.password.clone(),
            }),
            cache: cache.user(service).map(|user| microservice::Cache {
                host: cache.answer.exports.fqdn.clone(),
                port: cache.answer.exports.port,
                username: user.username.clone(),
                password: user.password.clone(),
            }),
            ..Default::default()
        })?;
        services.insert(service.to_owned(), format!("{}:{}", called.exports.fqdn, called.exports.port));
        output = output.with_files_from(service, &called);
        // Nothing logs in before the server knows it.
        for (server, used) in [("mariadb", database.user(service)), ("redis", cache.user(service))] {
            if used.is_some() {
                let server = format!("StatefulSet/{}@ready", inputs.install(server));
                output = output.after(format!("Deployment/{name}"), server);
            }
        }
    }
    let address = |fqdn: &str, port: u16| format!("{fqdn}:{port}");
    output.with_exports(&Exports {
        services,
        mariadb: address(&database.answer.exports.fqdn, database.answer.exports.port),
        redis: address(&cache.answer.exports.fqdn, cache.answer.exports.port),
    })
}

impl Inputs {
    /// The name of a part of the platform.
    fn install(&self, part: &str) -> String {
        format!("{}-{part}", self.name)
    }

    /// The labels of the Pods of these services.
    fn clients(&self, services: &[&str]) -> Vec<BTreeMap<String, String>> {
        let labels = |service: &&str| [("app.kubernetes.io/instance".to_owned(), self.install(service))].into();
        services.iter().map(labels).collect()
    }
}

/// A server that was called, and who may log in there.
struct Server<E> {
    answer: mistletoe::Answer<E>,
    users: Vec<User>,
}

impl<E> Server<E> {
    fn user(&self, service: &str) -> Option<&User> {
        self.users.iter().find(|user| user.username == service)
    }
}

impl Server<mariadb::Exports> {
    fn mariadb(inputs: &Inputs) -> Result<Self, Error> {
        let users = users("mariadb", &MARIADB_USERS)?;
        let account = |user: &User| mariadb::User {
            password: Some(user.password.clone()),
            ..mariadb::User::new(&user.username, DATABASE)
        };
        let answer = mariadb::call(&mariadb::Inputs {
            users: Some(users.iter().map(account).collect()),
            root_password: Some(User::create_secure("mariadb/root")?.password),
            clients: Some(inputs.clients(&MARIADB_USERS)),
            image: inputs.mariadb_image.clone(),
            persistence: Some(mariadb::Persistence { size: inputs.database_size.clone(), ..Default::default() }),
            ..Default::default()
        })?;
        Ok(Self { answer, users })
    }
}

impl Server<redis::Exports> {
    fn redis(inputs: &Inputs) -> Result<Self, Error> {
        let users = users("redis", &REDIS_USERS)?;
        let account =
            |user: &User| redis::User { password: Some(user.password.clone()), ..redis::User::new(&user.username) };
        let answer = redis::call(&redis::Inputs {
            users: Some(users.iter().map(account).collect()),
            admin_password: Some(User::create_secure("redis/admin")?.password),
            clients: Some(inputs.clients(&REDIS_USERS)),
            image: inputs.redis_image.clone(),
            persistence: Some(redis::Persistence { size: inputs.cache_size.clone(), ..Default::default() }),
            ..Default::default()
        })?;
        Ok(Self { answer, users })
    }
}

/// Users of one server; their passwords are the secrets SERVER/USER.
fn users(server: &str, names: &[&str]) -> Result<Vec<User>, Error> {
    names.iter().map(|name| User::create_secure(&format!("{server}/{name}"))).collect()
}

#[cfg(test)]
mod tests {
    use mistletoe::testing::Host;
    use mistletoe::{Value, json};

    use super::*;

    const METADATA: &str = include_str!("../mistletoe.yaml");

    // The packages as crates, by names that the generated clients don't have.
    use ::{mariadb as mariadb_package, microservice as microservice_package, redis as redis_package};

    fn host() -> Host {
        Host::new()
            .with_package("mariadb", mariadb_package::METADATA, mariadb_package::generate)
            .with_package("redis", redis_package::METADATA, redis_package::generate)
            .with_package("microservice", microservice_package::METADATA, microservice_package::generate)
    }

    fn rendered(host: &Host, release: &str) -> MistOutput {
        host.render(METADATA, generate, json!({ "name": release })).unwrap()
    }

    fn object(output: &MistOutput, path: &str) -> Value {
        let text = output.file(path).unwrap_or_else(|| panic!("no {path}"));
        serde_norway::from_str(text).unwrap()
    }

    fn password(output: &MistOutput, path: &str, key: &str) -> String {
        object(output, path)["stringData"][key].as_str().unwrap_or_else(|| panic!("{path} has no {key}")).to_owned()
    }

    #[test]
    fn each_service_has_the_password_that_the_server_has() {
        let output = rendered(&host(), "shop");
        let mut passwords = vec![];
        for (server, users, key) in
            [("mariadb", MARIADB_USERS, "DATABASE_PASSWORD"), ("redis", REDIS_USERS, "CACHE_PASSWORD")]
        {
            for user in users {
                let of_server = password(&output, &format!("{server}/user-{user}.yaml"), "password");
                assert_eq!(
                    of_server,
                    password(&output, &format!("{user}/credentials.yaml"), key),
                    "{user} of {server}"
                );
                passwords.push(of_server);
            }
        }
        passwords.extend(["mariadb/root.yaml", "redis/admin.yaml"].map(|path| password(&output, path, "password")));
        passwords.sort();
        passwords.dedup();
        assert_eq!(passwords.len(), 6, "no two users have one password");
        for (path, content) in output.files() {
            let secret = content.contains("\nkind: Secret\n");
            assert!(secret || passwords.iter().all(|password| !content.contains(password)), "{path}");
        }
    }

    #[test]
    fn two_platforms_share_nothing() {
        let (a, b) = (rendered(&host(), "shop-a"), rendered(&host(), "shop-b"));
        for path in ["mariadb/user-mic-a.yaml", "redis/user-mic-b.yaml", "mariadb/root.yaml"] {
            assert_ne!(password(&a, path, "password"), password(&b, path, "password"), "{path}");
        }
        let names = |output: &MistOutput| {
            let named = |(_, text)| serde_norway::from_str::<Value>(text).unwrap()["metadata"]["name"].to_string();
            output.files().filter(|(path, _)| *path != "mist-order.yaml").map(named).collect::<Vec<_>>()
        };
        assert!(names(&a).iter().all(|name| name.starts_with("\"shop-a-") && !names(&b).contains(name)));
    }

    #[test]
    fn a_rotated_user_rolls_its_server_and_its_service() {
        let changed = |secret: &str| {
            let (before, after) = (rendered(&host(), "shop"), rendered(&host().rotate(secret), "shop"));
            let changes: Vec<String> = before
                .files()
                .filter(|(path, content)| after.file(path) != Some(content))
                .map(|(path, _)| path.to_owned())
                .collect();
            changes
        };
        assert_eq!(
            changed("mariadb/mic-a"),
            [
                "mariadb/server.yaml",
                "mariadb/user-mic-a.yaml",
                "mariadb/users.yaml",
                "mic-a/credentials.yaml",
                "mic-a/deployment.yaml"
            ]
        );
        assert_eq!(
            changed("redis/mic-b"),
            [
                "redis/server.yaml",
                "redis/user-mic-b.yaml",
                "redis/users.yaml",
                "mic-b/credentials.yaml",
                "mic-b/deployment.yaml"
            ]
        );
        assert_eq!(changed("mariadb/root"), ["mariadb/root.yaml", "mariadb/server.yaml", "mariadb/users.yaml"]);
    }

    #[test]
    fn everybody_knows_everybody_else() {
        let output = rendered(&host(), "shop");
        for service in SERVICES {
            let deployment = object(&output, &format!("{service}/deployment.yaml"));
            let environment = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
            let peers = environment[2]["value"].as_str().unwrap();
            let others: Vec<String> =
                SERVICES.iter().filter(|&&other| other != service).map(|other| format!("shop-{other}")).collect();
            assert_eq!(peers, others.join(" "));
        }
    }
}
