//! The platform of `platform-example`, object for object, with the packages that it is made of as crates: their functions are
//! called, with their own types, and everything is one module.

use std::collections::BTreeMap;

use mistletoe::secret::User;
use mistletoe::{Context, Error, ErrorContext, MistOutput, MistResult};

mistletoe::mistletoe_package! { file = "mistletoe.yaml" }
mistletoe::types! { file = "mistletoe.yaml" }

const SERVICES: [&str; 3] = ["mic-a", "mic-b", "mic-c"];
const MARIADB_USERS: [&str; 2] = ["mic-a", "mic-b"];
const REDIS_USERS: [&str; 2] = ["mic-b", "mic-c"];
const DATABASE: &str = "shop";

fn generate(inputs: Inputs, context: Context) -> MistResult {
    let namespace = &context.release.context("the host names no release")?.namespace;
    let (database_users, cache_users) = (users("mariadb", &MARIADB_USERS)?, users("redis", &REDIS_USERS)?);
    let database = mariadb_inputs(&inputs, namespace, &database_users)?;
    let cache = redis_inputs(&inputs, namespace, &cache_users)?;
    let (database_host, cache_host) = (database.fqdn(), cache.fqdn());
    let mut output = MistOutput::new()
        .with_files_from("mariadb", &mariadb::generate(database)?)
        .with_files_from("redis", &redis::generate(cache)?);
    let mut services = BTreeMap::new();
    for service in SERVICES {
        let name = inputs.install(service);
        let (database_user, cache_user) = (find(&database_users, service), find(&cache_users, service));
        let mut called = microservice::Inputs::new(&name, namespace);
        called.replicas = inputs.replicas;
        called.peers = SERVICES.iter().filter(|&&peer| peer != service).map(|peer| inputs.install(peer)).collect();
        if let Some(image) = &inputs.image {
            called.image.clone_from(image);
        }
        called.database = database_user.map(|user| microservice::Database {
            host: database_host.clone(),
            port: mariadb::PORT,
            database: DATABASE.into(),
            username: user.username.clone(),
            password: user.password.clone(),
        });
        called.cache = cache_user.map(|user| microservice::Cache {
            host: cache_host.clone(),
            port: redis::PORT,
            username: user.username.clone(),
            password: user.password.clone(),
        });
        services.insert(service.to_owned(), format!("{}:{}", called.fqdn(), microservice::PORT));
        output = output.with_files_from(service, &microservice::generate(called)?);
        for (server, used) in [("mariadb", database_user), ("redis", cache_user)] {
            if used.is_some() {
                let server = format!("StatefulSet/{}@ready", inputs.install(server));
                output = output.after(format!("Deployment/{name}"), server);
            }
        }
    }
    output.with_exports(&Exports {
        services,
        mariadb: format!("{database_host}:{}", mariadb::PORT),
        redis: format!("{cache_host}:{}", redis::PORT),
    })
}

fn mariadb_inputs(inputs: &Inputs, namespace: &str, users: &[User]) -> Result<mariadb::Inputs, Error> {
    let account = |user: &User| mariadb::User {
        password: Some(user.password.clone()),
        ..mariadb::User::new(&user.username, DATABASE)
    };
    let mut called = mariadb::Inputs::new(inputs.install("mariadb"), namespace);
    called.users = users.iter().map(account).collect();
    called.root_password = Some(User::create_secure("mariadb/root")?.password);
    called.clients = inputs.clients(&MARIADB_USERS);
    if let Some(image) = &inputs.mariadb_image {
        called.image.clone_from(image);
    }
    if let Some(size) = &inputs.database_size {
        called.persistence.size.clone_from(size);
    }
    Ok(called)
}

fn redis_inputs(inputs: &Inputs, namespace: &str, users: &[User]) -> Result<redis::Inputs, Error> {
    let account =
        |user: &User| redis::User { password: Some(user.password.clone()), ..redis::User::new(&user.username) };
    let mut called = redis::Inputs::new(inputs.install("redis"), namespace);
    called.users = users.iter().map(account).collect();
    called.admin_password = Some(User::create_secure("redis/admin")?.password);
    called.clients = inputs.clients(&REDIS_USERS);
    if let Some(image) = &inputs.redis_image {
        called.image.clone_from(image);
    }
    if let Some(size) = &inputs.cache_size {
        called.persistence.size.clone_from(size);
    }
    Ok(called)
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

/// Users of one server; their passwords are the secrets SERVER/USER.
fn users(server: &str, names: &[&str]) -> Result<Vec<User>, Error> {
    names.iter().map(|name| User::create_secure(&format!("{server}/{name}"))).collect()
}

fn find<'a>(users: &'a [User], service: &str) -> Option<&'a User> {
    users.iter().find(|user| user.username == service)
}
