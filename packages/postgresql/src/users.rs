//! SQL that makes databases and users those of the inputs. It runs at each start, before clients can connect, and gives
//! the same result when it runs again.
//!
//! A database belongs to the role `DATABASE_owner`. Its users are members of that role, of `DATABASE_read_write` or of
//! `DATABASE_read_only`, and everything that an owner makes belongs to the role: users can come and go, and nothing is lost
//! with one. Roles that were made here have a comment that says so (`MADE`), and those that are to be dropped another one,
//! which `database.sql` and `drop.sql` look for.

use crate::{Access, Account};

const MADE: &str = "mistletoe";
const REMOVED: &str = "mistletoe: removed";

/// The statements for psql, one a line.
///
/// Names are of the characters that the schema allows, none of which ends a text or a quoted name.
pub fn file(accounts: &[Account]) -> String {
    let mut lines = vec![
        "SET client_min_messages = warning;".to_owned(),
        "REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC;".to_owned(),
    ];
    lines.extend(remove_others(accounts));
    let mut databases: Vec<&str> = Vec::new();
    for account in accounts {
        if !databases.contains(&account.database) {
            databases.push(account.database);
            lines.extend(make_database(account.database));
        }
        lines.extend(make_user(account));
    }
    lines.join("\n") + "\n"
}

/// Users that were made here and are not among the inputs any more lose their login; later steps drop them.
fn remove_others(accounts: &[Account]) -> [String; 2] {
    let kept: String = accounts.iter().map(|account| format!(", '{}'", account.username)).collect();
    let gone = format!(
        "FROM pg_roles WHERE shobj_description(oid, 'pg_authid') IN ('{MADE}', '{REMOVED}') AND rolname NOT IN (''{kept})"
    );
    [
        format!("SELECT format('ALTER ROLE %I NOLOGIN PASSWORD NULL', rolname) {gone} \\gexec"),
        format!("SELECT format('COMMENT ON ROLE %I IS ''{REMOVED}''', rolname) {gone} \\gexec"),
    ]
}

fn make_role(name: &str) -> String {
    format!("SELECT 'CREATE ROLE \"{name}\"' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}') \\gexec")
}

fn make_database(name: &str) -> [String; 8] {
    [
        make_role(&format!("{name}_owner")),
        make_role(&format!("{name}_read_write")),
        make_role(&format!("{name}_read_only")),
        format!(
            "SELECT 'CREATE DATABASE \"{name}\" OWNER \"{name}_owner\"' WHERE NOT EXISTS (SELECT FROM pg_database WHERE \
             datname = '{name}') \\gexec"
        ),
        format!("ALTER DATABASE \"{name}\" OWNER TO \"{name}_owner\";"),
        format!("REVOKE ALL ON DATABASE \"{name}\" FROM PUBLIC;"),
        format!("GRANT CONNECT, TEMPORARY ON DATABASE \"{name}\" TO \"{name}_read_write\";"),
        format!("GRANT CONNECT, TEMPORARY ON DATABASE \"{name}\" TO \"{name}_read_only\";"),
    ]
}

fn make_user(account: &Account) -> Vec<String> {
    let Account { username, verifier, database, access, .. } = account;
    let group = match access {
        Access::Owner => format!("{database}_owner"),
        Access::ReadWrite => format!("{database}_read_write"),
        Access::ReadOnly => format!("{database}_read_only"),
    };
    let mut lines = vec![
        make_role(username),
        format!(
            "ALTER ROLE \"{username}\" LOGIN INHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD \
             '{verifier}';"
        ),
        format!("COMMENT ON ROLE \"{username}\" IS '{MADE}';"),
        format!(
            "SELECT format('REVOKE %I FROM \"{username}\"', held.rolname) FROM pg_auth_members JOIN pg_roles held ON held.oid = \
             roleid JOIN pg_roles mine ON mine.oid = member WHERE mine.rolname = '{username}' \\gexec"
        ),
        format!("GRANT \"{group}\" TO \"{username}\";"),
        format!(
            "SELECT format('ALTER ROLE \"{username}\" IN DATABASE %I RESET role', datname) FROM pg_db_role_setting JOIN \
             pg_database d ON d.oid = setdatabase JOIN pg_roles mine ON mine.oid = setrole WHERE mine.rolname = '{username}' \
             \\gexec"
        ),
    ];
    if *access == Access::Owner {
        // Its objects belong to all owners.
        lines.push(format!("ALTER ROLE \"{username}\" IN DATABASE \"{database}\" SET role = '{group}';"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(username: &'static str, database: &'static str, access: Access) -> Account<'static> {
        Account { username, password: "secret".into(), verifier: "SCRAM-SHA-256$1:a$b:c".into(), database, access }
    }

    #[test]
    fn a_user_is_a_member_of_one_role_of_one_database() {
        for (access, role) in
            [(Access::Owner, "owner"), (Access::ReadWrite, "read_write"), (Access::ReadOnly, "read_only")]
        {
            let file = file(&[account("web", "my_shop", access)]);
            assert_eq!(file.lines().filter(|line| line.ends_with("TO \"web\";")).count(), 1, "{file}");
            assert!(file.contains(&format!("\nGRANT \"my_shop_{role}\" TO \"web\";\n")), "{file}");
            assert_eq!(file.contains("SET role = 'my_shop_owner'"), access == Access::Owner);
        }
    }

    #[test]
    fn a_database_is_made_once() {
        let file = file(&[account("a", "x", Access::Owner), account("b", "x", Access::ReadOnly)]);
        assert_eq!(file.matches("CREATE DATABASE").count(), 1);
        let at = |text: &str| file.find(text).unwrap_or_else(|| panic!("{text}: {file}"));
        assert!(at("CREATE ROLE \"x_owner\"") < at("CREATE DATABASE"), "its owner first");
        assert!(at("FROM PUBLIC;\nGRANT CONNECT") < at("GRANT \"x_owner\""));
    }

    #[test]
    fn each_statement_is_one_line() {
        let accounts = [account("a", "x", Access::Owner), account("b", "y", Access::ReadWrite)];
        for line in file(&accounts).lines() {
            assert!(line.ends_with(';') != line.ends_with(" \\gexec"), "{line}");
        }
    }

    #[test]
    fn nobody_else_keeps_access() {
        assert!(file(&[account("a", "x", Access::Owner)]).contains("rolname NOT IN ('', 'a') \\gexec"));
        assert!(file(&[]).contains("rolname NOT IN ('') \\gexec"));
    }

    #[test]
    fn the_password_itself_is_not_in_the_file() {
        assert!(!file(&[account("a", "x", Access::Owner)]).contains("secret"));
    }
}
