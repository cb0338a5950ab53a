//! What the server does at each start, before it answers anybody: https://mariadb.com/kb/en/server-system-variables/#init_file

use mistletoe::secret::SecretText;

use crate::{Access, Account};

/// The statements that make users and databases what the inputs say, one a line.
///
/// Names and passwords are of the characters that the schema allows, none of which ends a text or a quoted name.
pub fn users_file(root: &SecretText, accounts: &[Account]) -> String {
    let mut lines = vec![
        // A new data directory has root without a password for connections from inside the Pod, as port-forward's are.
        "DELETE FROM mysql.global_priv WHERE User = 'root' AND Host <> 'localhost';".to_owned(),
        "DELETE FROM mysql.proxies_priv WHERE Host <> 'localhost';".to_owned(),
        "FLUSH PRIVILEGES;".to_owned(),
        format!("ALTER USER 'root'@'localhost' IDENTIFIED BY '{}';", root.reveal()),
        // For the probes, which come through the socket: no password, no rights.
        "CREATE USER IF NOT EXISTS 'health'@'localhost';".to_owned(),
        "CREATE DATABASE IF NOT EXISTS mistletoe;".to_owned(),
        "CREATE TABLE IF NOT EXISTS mistletoe.users (name VARCHAR(80) PRIMARY KEY);".to_owned(),
    ];
    lines.extend(drop_others(accounts));
    for account in accounts {
        lines.extend(make(account));
    }
    lines.join("\n") + "\n"
}

/// Users that were made here and are not among the inputs any more.
fn drop_others(accounts: &[Account]) -> [String; 4] {
    let kept: String = accounts.iter().map(|account| format!(", '{}'", account.username)).collect();
    [
        format!(
            "SET @gone = (SELECT GROUP_CONCAT(CONCAT(QUOTE(name), '@''%''') SEPARATOR ', ') FROM mistletoe.users WHERE \
             name NOT IN (''{kept}));"
        ),
        "SET @drop_gone = IF(@gone IS NULL, 'DO 0', CONCAT('DROP USER IF EXISTS ', @gone));".to_owned(),
        "EXECUTE IMMEDIATE @drop_gone;".to_owned(),
        format!("DELETE FROM mistletoe.users WHERE name NOT IN (''{kept});"),
    ]
}

fn make(account: &Account) -> [String; 6] {
    let Account { username, password, database, access } = account;
    // In a GRANT "_" stands for any character.
    let pattern = database.replace('_', "\\_");
    let rights = match access {
        Access::Owner => "ALL PRIVILEGES",
        Access::ReadWrite => "SELECT, INSERT, UPDATE, DELETE, EXECUTE, CREATE TEMPORARY TABLES, LOCK TABLES, SHOW VIEW",
        Access::ReadOnly => "SELECT, SHOW VIEW",
    };
    [
        format!("CREATE DATABASE IF NOT EXISTS `{database}`;"),
        format!("REPLACE INTO mistletoe.users VALUES ('{username}');"),
        format!("CREATE USER IF NOT EXISTS '{username}'@'%';"),
        format!("ALTER USER '{username}'@'%' IDENTIFIED BY '{}';", password.reveal()),
        format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM '{username}'@'%';"),
        format!("GRANT {rights} ON `{pattern}`.* TO '{username}'@'%';"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(username: &'static str, database: &'static str, access: Access) -> Account<'static> {
        Account { username, password: "secret".into(), database, access }
    }

    #[test]
    fn grants_name_one_database_alone() {
        let file = users_file(&"r".into(), &[account("a", "my_shop", Access::ReadOnly)]);
        assert!(file.contains("CREATE DATABASE IF NOT EXISTS `my_shop`;"));
        assert!(file.contains("GRANT SELECT, SHOW VIEW ON `my\\_shop`.* TO 'a'@'%';"));
    }

    #[test]
    fn each_statement_is_one_line() {
        let accounts = [account("a", "x", Access::Owner), account("b", "y", Access::ReadWrite)];
        for line in users_file(&"r".into(), &accounts).lines() {
            assert!(line.ends_with(';') && line.matches(';').count() == 1, "{line}");
        }
    }

    #[test]
    fn nobody_else_keeps_access() {
        assert!(users_file(&"r".into(), &[account("a", "x", Access::Owner)]).contains("name NOT IN ('', 'a')"));
        assert!(users_file(&"r".into(), &[]).contains("name NOT IN ('')"));
    }
}
